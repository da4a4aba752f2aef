-- expect: table expected
rawset(any, "x", 1)
