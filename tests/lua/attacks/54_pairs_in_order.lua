-- expect: has no rule
local t = {}
for _, k in ipairs {"b", "a", 2, 1, 2.5, "aa", true} do t[k] = k end
local seen = {}
for k in pairs(t) do seen[#seen + 1] = tostring(k) end
assert(table.concat(seen, " ") == "1 2 2.5 a aa b true", table.concat(seen, " "))
local k, all = nil, {}
repeat
  k = next(t, k)
  all[#all + 1] = tostring(k)
until k == nil
assert(table.concat(all, " ") == "1 2 2.5 a aa b true nil")
for k in pairs(t) do t[k] = nil end
assert(next(t) == nil)
