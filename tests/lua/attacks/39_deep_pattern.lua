-- expect: too large
return rule {
  match = function(op, x)
    for i = 1, 5000 do x = op.Relu(x) end
    return x
  end,
  rewrite = function(op, m) end,
}
