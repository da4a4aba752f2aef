-- expect: unknown word
collectgarbage("stop")
