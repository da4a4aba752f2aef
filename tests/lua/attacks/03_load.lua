-- expect: unknown word
return load(function() return nil end, "=x", "b")
