-- expect: has no rule
assert(tostring({}) == "table")
assert(tostring(pairs) == "function")

assert(tostring(coroutine.create(function() end)) == "thread")
assert(("%s"):format({}) == "table")
assert(not pcall(string.format, "%p", {}))
