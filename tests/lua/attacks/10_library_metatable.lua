-- expect: protected
setmetatable(string, {})
