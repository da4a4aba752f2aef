-- expect: unknown word
return dofile("/etc/passwd")
