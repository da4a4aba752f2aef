-- expect: has no rule
assert(#bit.tohex(1, -2 ^ 31) <= 254)
assert(#bit.tohex(1, 2 ^ 31 - 1) <= 254)
