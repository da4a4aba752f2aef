-- expect: unknown word
return debug.getregistry()
