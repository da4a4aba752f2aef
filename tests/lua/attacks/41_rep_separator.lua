-- expect: is too long
return ("x"):rep(1e9, "y")
