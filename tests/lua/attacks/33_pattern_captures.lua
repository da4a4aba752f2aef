-- expect: more than 32
("x"):find(("("):rep(2e3))
