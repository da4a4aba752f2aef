-- expect: __mode has no place
setmetatable({}, {__mode = "k"})
