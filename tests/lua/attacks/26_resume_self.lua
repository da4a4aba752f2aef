-- expect: has no rule
local co
co = coroutine.create(function() return coroutine.resume(co) end)
local ok, inner, reason = coroutine.resume(co)
assert(ok and inner == false and reason:find("running"))
assert(coroutine.status(co) == "dead")
ok, reason = coroutine.resume(co)
assert(not ok and reason:find("dead"))
