-- expect: a second rule or pack
for i = 1, 1e6 do rule {} end
