-- expect: outside of the list
table.insert({}, 2 ^ 53, 1)
