-- expect: unknown word
os.execute("true")
