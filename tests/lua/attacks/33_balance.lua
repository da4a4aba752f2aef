-- expect: ran longer
local text = ("("):rep(1e6)
while true do pcall(text.find, text, "%b()x") end
