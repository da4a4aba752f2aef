-- expect: protected
table.insert(table, 1)
