-- expect: ran longer
local text, pattern = (" "):rep(1e5), (" *"):rep(30) .. "b"
while true do pcall(text.find, text, pattern) end
