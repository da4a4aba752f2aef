-- expect: too large
local big = {}
for i = 1, 1e5 do big[i] = i end
return rule {
  match = function(op, x)
    for i = 1, 1e9 do
      big[1] = i
      x = op.Add(x, big)
    end
    return x
  end,
  rewrite = function(op, m) end,
}
