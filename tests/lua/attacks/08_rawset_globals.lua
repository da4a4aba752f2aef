-- expect: unknown word
rawset(_G, "x", 1)
