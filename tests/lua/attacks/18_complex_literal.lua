-- expect: a number with a suffix
local t = {2.5i}
