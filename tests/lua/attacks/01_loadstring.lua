-- expect: unknown word
return loadstring("\27LJ\2")()
