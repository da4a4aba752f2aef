-- expect: too large
return rule {
  match = function(op, x)
    while true do x:rank(4) end
  end,
  rewrite = function(op, m) end,
}
