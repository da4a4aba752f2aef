-- expect: not a text
error()
