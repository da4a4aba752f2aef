-- expect: unknown word
return os.time()
