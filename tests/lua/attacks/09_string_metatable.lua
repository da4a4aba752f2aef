-- expect: a nil value
getmetatable("").__index = function() return "evil" end
