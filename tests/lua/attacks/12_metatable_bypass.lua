-- expect: protected
local t = setmetatable({}, {__metatable = "locked", __newindex = error})
assert(getmetatable(t) == "locked")
setmetatable(t, nil)
