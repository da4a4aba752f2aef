-- expect: too many values
return unpack({}, 1, 2 ^ 31 - 1)
