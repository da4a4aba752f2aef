-- expect: nested more than
local function nest() return coroutine.wrap(nest)() end
nest()
