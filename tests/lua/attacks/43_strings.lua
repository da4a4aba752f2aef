-- expect: more memory
local t = {}
for i = 1, 1e12 do t[i % 1e5] = ("x"):rep(1e4) .. i end
