-- expect: cannot be changed
string.rep = function() return "evil" end
