-- expect: ran longer
xpcall(error, function() while true do end end)
