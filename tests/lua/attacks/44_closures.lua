-- expect: more memory
local t = {}
for i = 1, 1e12 do local j = i t[#t + 1] = {function() return j end} end
