-- expect: unknown word
return require("ffi")
