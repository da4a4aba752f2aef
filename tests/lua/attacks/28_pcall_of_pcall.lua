-- expect: ran longer
while true do pcall(pcall, pcall, function() while true do end end) end
