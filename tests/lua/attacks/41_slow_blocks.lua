-- expect: ran longer
local s = ("x"):rep(3e7)
while true do local t = s:lower() end
