-- expect: is not a pattern
return rule {
  match = function(op, x) return op.Relu(function() end) end,
  rewrite = function(op, m) end,
}
