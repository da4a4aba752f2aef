-- expect: a number with a suffix
local x = 1LL
return x
