--- Products of the rows of several heads at once, as products of each head.
local heads = lib "heads"

return rule {
  doc = [[
    apart(together(x) y)     =>   x repeated(y)
    apart(together(x) k^T)   =>   x repeated(k)^T

    x is [B,H,S,D], k is [B,G,L,D]. Heads that share a key head stand in a row, so together(x) is [B,G,H/G S,D], and apart
    is the way back. Attention is written so where no key head is to be repeated (rules/lowering).]],
  phase = "canonical",

  -- The shape of together(x) follows from the others: a product of [B,G,_,D] and [B,G,D,L] alone has as many elements.
  match = function(op, x, y, k, H, G)
    x:shape "B H S D"
    local other = either(
      function() k:shape "B G L D"; return op.Transpose{k, perm = {0, 1, 3, 2}} end,
      function() y:shape "B G D L"; return y end)
    return op.Reshape{op.MatMul(op.Reshape{x, any, allowzero = any}, other), any, allowzero = any}:shape "B H S L"
  end,

  where = function(m)
    need(heads.positive(m.G) and heads.positive(m.H) and m.G < m.H and m.H % m.G == 0, "no heads share one", m.x)
  end,

  rewrite = function(op, m)
    if m.k then return op.MatMul(m.x, op.Transpose{heads.spread(op, m.k, m.G, m.H, m.k:dim(3)), perm = {0, 1, 3, 2}}) end
    return op.MatMul(m.x, heads.spread(op, m.y, m.G, m.H, m.y:dim(3)))
  end,

  examples = {
    { "queries of two heads and their key", [[
        (float[B,4,S,8] q, float[B,2,L,8] k) => (float[B,4,S,L] y)
        <int64[1] two = {2}, int64[1] axis = {2}, int64[2] groups = {0,2}, int64[2] heads = {0,4}, int64[1] last = {0}> {
          shape = Shape(q)
          rows = Gather(shape, axis)
          all = Mul(rows, two)
          together = Concat <axis = 0> (groups, all, last)
          qg = Reshape(q, together)
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(qg, kt)
          apart = Concat <axis = 0> (heads, rows, last)
          y = Reshape(s, apart)
        }]],
      [[axes = Constant <value = int64[1] {2}> ()
        times = Constant <value = int64[5] {1,1,2,1,1}> ()
        zero = Constant <value = int64[1] {0}> ()
        four = Constant <value = int64[1] {4}> ()
        eight = Constant <value = int64[1] {8}> ()
        shape = Shape(q)
        u = Unsqueeze(k, axes)
        e = Expand(u, times)
        batch = Gather(shape, zero)
        of_k = Shape(k)
        keys = Gather(of_k, axes)
        sizes = Concat <axis = 0> (batch, four, keys, eight)
        r = Reshape <allowzero = 1> (e, sizes)
        t = Transpose <perm = [0,1,3,2]> (r)
        y = MatMul(q, t)]] },
    { "weights of two heads and their values", [[
        (float[2,4,6,5] p, float[2,2,5,8] v) => (float[2,4,6,8] y)
        <int64[4] together = {2,2,12,5}, int64[4] apart = {2,4,6,8}> {
          pg = Reshape(p, together)
          yg = MatMul(pg, v)
          y = Reshape(yg, apart)
        }]],
      [[axes = Constant <value = int64[1] {2}> ()
        times = Constant <value = int64[5] {1,1,2,1,1}> ()
        sizes = Constant <value = int64[4] {2,4,5,8}> ()
        u = Unsqueeze(v, axes)
        e = Expand(u, times)
        r = Reshape(e, sizes)
        y = MatMul(p, r)]] },
    { "as many of each", [[
        (float[2,4,6,5] p, float[2,4,5,8] v) => (float[2,4,6,8] y) <int64[4] same = {2,4,6,5}, int64[4] apart = {2,4,6,8}> {
          pg = Reshape(p, same)
          yg = MatMul(pg, v)
          y = Reshape(yg, apart)
        }]],
      rejected = "no heads share one" },
  },
}
