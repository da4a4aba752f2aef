-- expect: unknown word
return package.loaded._G
