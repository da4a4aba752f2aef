-- expect: table expected
setmetatable("", {__index = function() return "evil" end})
