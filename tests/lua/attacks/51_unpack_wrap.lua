-- expect: too many values
return unpack({}, -2 ^ 31, 2 ^ 31 - 1)
