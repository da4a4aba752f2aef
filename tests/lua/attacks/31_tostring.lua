-- expect: ran longer
tostring(setmetatable({}, {__tostring = function() while true do end end}))
