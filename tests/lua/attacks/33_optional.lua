-- expect: too complex
("a"):rep(2000):find(("a?"):rep(2000))
