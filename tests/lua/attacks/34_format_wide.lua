-- expect: has no rule
assert(#("%99.99f"):format(1e308) == 409)
assert(not pcall(string.format, "%d", 1e300))
assert(not pcall(string.format, "%d", 0 / 0))
