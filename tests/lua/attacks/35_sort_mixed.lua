-- expect: attempt to compare
table.sort({1, "x", {}})
