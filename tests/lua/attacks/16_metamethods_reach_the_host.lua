-- expect: has no rule
local seen = false
local trap = setmetatable({}, {__index = function() seen = true end})
assert(select("#", unpack(trap, 1, 3)) == 3)
assert(table.concat(setmetatable({"a"}, {__index = trap})) == "a")
assert(not seen)
