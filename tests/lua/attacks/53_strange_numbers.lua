-- expect: has no rule
local t = {}
assert(not pcall(function() t[0 / 0] = 1 end))
assert(not pcall(rawset, t, 0 / 0, 1))
t[-0] = "zero" assert(t[0] == "zero")
t[1e308], t[2 ^ 53 + 1] = 1, 2
assert(#("abc"):sub(-1 / 0, 1 / 0) <= 3)
assert(("abc"):find("b", 0 / 0) == 2)
assert(select("#", pcall(select, 0)) == 2)
