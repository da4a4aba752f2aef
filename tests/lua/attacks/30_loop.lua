-- expect: ran longer
while true do end
