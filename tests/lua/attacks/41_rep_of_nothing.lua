-- expect: has no rule
assert((""):rep(2 ^ 53) == "")
assert(("x"):rep(0 / 0) == "" and ("x"):rep(-1) == "")
