-- expect: ran longer
local function f() pcall(f) pcall(f) end
f()
