-- expect: unknown word
return require("table.new")(2 ^ 27, 0)
