-- expect: __gc has no place
setmetatable({}, {__gc = function() while true do end end})
