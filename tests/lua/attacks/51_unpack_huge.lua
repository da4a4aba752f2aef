-- expect: too many values
return unpack({}, 2 ^ 53, 2 ^ 53 + 10)
