-- expect: unknown word
return getfenv(0)
