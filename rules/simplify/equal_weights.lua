--- Keep one of equal weights.
return rule {
  doc = [[
    f(x, w), g(y, v)   =>   f(x, w), g(y, w)   if the initializers w and v hold the same bits, more than 256 bytes]],
  pass = function(graph)
    for _, pair in ipairs(graph:equal_weights()) do
      attempt(pair.second.users[1], function() pair.second:replace_with(pair.first) end)
    end
  end,

  examples = {
    { "three, of which one differs", [[
        (double[2,6] x) => (double[2,6] y, double[2,6] z, double[2,6] u) <
          double[6,6] w = {1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6},
          double[6,6] v = {1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6},
          double[6,6] t = {1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,7}> {
          y = MatMul(x, w)
          n = Neg(x)
          z = MatMul(n, v)
          u = MatMul(x, t)
        }]],
      "y = MatMul(x, w) n = Neg(x) z = MatMul(n, w) u = MatMul(x, t)" },
  },
}
