-- expect: gets too long
return ("x"):rep(2 ^ 31)
