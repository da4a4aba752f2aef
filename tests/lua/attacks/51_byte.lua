-- expect: too
return ("x"):rep(1e6):byte(1, -1)
