-- expect: unknown word
setfenv(1, {})
