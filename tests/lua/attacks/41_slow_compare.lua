-- expect: ran longer
local s = ("x"):rep(1.5e7)
local a, b = s .. "a", s .. "b"
while true do local t = a < b end
