-- expect: gave no string
tostring(setmetatable({}, {__tostring = function() return {} end}))
