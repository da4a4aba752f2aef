-- expect: nested more than
return rule {
  match = function(op, x)
    local function nest() return either(nest, x) end
    return nest()
  end,
  rewrite = function(op, m) end,
}
