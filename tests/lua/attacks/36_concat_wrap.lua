-- expect: outside of the list
return table.concat({}, "", 1, 2 ^ 31)
