-- expect: longer than
("x"):find(("("):rep(2e5))
