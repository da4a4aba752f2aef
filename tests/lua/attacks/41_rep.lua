-- expect: is too long
return ("x"):rep(2 ^ 31)
