-- expect: __mode is not available
setmetatable({}, {__mode = "k"})
