-- expect: belongs at the top
coroutine.wrap(function() return lib "attention" end)()
