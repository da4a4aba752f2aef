-- expect: must be called at the top
coroutine.wrap(function() return lib "attention" end)()
