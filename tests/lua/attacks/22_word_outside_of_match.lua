-- expect: outside of `match`
return either(1, 2)
