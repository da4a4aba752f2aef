-- expect: more memory
while true do
  pcall(function()
    local t = {}
    for i = 1, 1e12 do t[i] = {} end
  end)
end
