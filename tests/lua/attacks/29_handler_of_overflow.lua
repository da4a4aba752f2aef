-- expect: has no rule
local function deep() return 1 + deep() end
local ok, e = xpcall(deep, function(e) return "handled: " .. e end)
assert(not ok and e:find("handled: .*stack overflow"), e)
