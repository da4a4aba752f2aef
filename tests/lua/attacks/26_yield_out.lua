-- expect: yield across
coroutine.yield(1)
