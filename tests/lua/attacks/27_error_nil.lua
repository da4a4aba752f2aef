-- expect: no text
error()
