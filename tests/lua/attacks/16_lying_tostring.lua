-- expect: did not return a string
tostring(setmetatable({}, {__tostring = function() return {} end}))
