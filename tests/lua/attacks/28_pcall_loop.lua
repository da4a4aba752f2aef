-- expect: ran longer
while true do pcall(function() while true do end end) end
