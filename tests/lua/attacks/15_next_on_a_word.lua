-- expect: table expected
next(any)
