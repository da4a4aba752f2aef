-- expect: ran longer
local t = {}
for i = 1, 1e12 do t[("k"):rep(20) .. (i % 1e5)] = i end
