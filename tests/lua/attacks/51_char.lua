-- expect: has no rule
local t = {}
for i = 1, 5000 do t[i] = 65 end
assert(#string.char(unpack(t)) == 5000)
assert(select("#", unpack(t)) == 5000)
