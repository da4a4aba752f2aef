-- expect: no text
error(setmetatable({}, {__tostring = function() error("again") end}))
