-- expect: ran longer
local function spin() while true do end end
while true do coroutine.resume(coroutine.create(spin)) end
