-- expect: not a text
error(setmetatable({}, {__tostring = function() error("again") end}))
