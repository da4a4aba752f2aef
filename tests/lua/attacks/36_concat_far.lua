-- expect: is a nil
return table.concat({}, "", 1, 2 ^ 29)
