-- expect: has no rule
local function handler(e) error(e) end
local ok = xpcall(error, handler, "x")
assert(not ok)
