-- expect: one rule, or one pack
for i = 1, 1e6 do rule {} end
