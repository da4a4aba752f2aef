-- expect: more memory
local all = {}
for i = 1, 1e9 do
  local co = coroutine.create(function() coroutine.yield() end)
  coroutine.resume(co)
  all[i] = co
end
