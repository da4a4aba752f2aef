-- expect: protected
rawset(math, "floor", nil)
