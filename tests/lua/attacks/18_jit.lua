-- expect: unknown word
jit.off()
