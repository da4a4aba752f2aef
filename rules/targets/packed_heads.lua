--- Split a packed projection before its heads move in front of the tokens.
local heads = lib "heads"

return rule {
  doc = [[
    part(transpose(x as [B,S,N,H,D], [2,0,3,1,4]))   =>   transpose(slice(x) as [B,S,H,D], [0,2,1,3])

    x is [B,S,N*H*D]. Attention ops of runtimes take heads behind tokens; then the Transpose of each part is removed.]],
  phase = "canonical",

  match = function(op, x, i, N, H, D)
    local cut = op.Reshape{x, any, allowzero = any}:shape "_ _ N H D"
    local turned = context(op.Transpose{cut, perm = {2, 0, 3, 1, 4}})
    local a, b, c = op.Split{turned, inputs = any, axis = 0, num_outputs = any, outputs = 3}
    return either(op.Gather{turned, i, axis = 0}, op.Squeeze(context(a), any):as "first",
      op.Squeeze(context(b), any):as "second", op.Squeeze(context(c), any):as "third")
  end,

  where = function(m)
    m.part = m.first and 0 or m.second and 1 or m.third and 2 or need(m.i:scalar(), "the part is not known", m.i)
    if m.part < 0 then m.part = m.part + m.N end
    need(m.x:rank() == 3, "the tokens are not one axis", m.x)
    need(heads.positive(m.H) and heads.positive(m.D), "the size of the heads is unknown", m.x)
  end,

  rewrite = function(op, m)
    local width = m.H * m.D
    local part = op.Slice(m.x, {m.part * width}, {(m.part + 1) * width}, {2})
    return heads.split(op, part, m.H, m.D)
  end,

  examples = {
    { "parts of a split, keys are read by others too", [[
        (float[B,S,48] x) => (float[B,2,S,8] q, float[B,2,S,8] k, float[B,2,S,8] v, float[1,B,2,S,8] r)
        <int64[5] apart = {0,0,3,2,8}, int64[1] first = {0}> {
          c = Reshape(x, apart)
          t = Transpose <perm = [2,0,3,1,4]> (c)
          a, b, d = Split <axis = 0, num_outputs = 3> (t)
          q = Squeeze(a, first)
          k = Squeeze(b, first)
          v = Squeeze(d, first)
          r = Neg(b)
        }]],
      [[two = Constant <value = int64[1] {2}> ()
        n0 = Constant <value = int64[1] {0}> ()
        n16 = Constant <value = int64[1] {16}> ()
        n32 = Constant <value = int64[1] {32}> ()
        n48 = Constant <value = int64[1] {48}> ()
        c = Reshape(x, apart)
        t = Transpose <perm = [2,0,3,1,4]> (c)
        a, b, d = Split <axis = 0, num_outputs = 3> (t)
        r = Neg(b)
        sizes = Constant <value = int64[4] {0,0,2,8}> ()
        sq = Slice(x, n0, n16, two)
        hq = Reshape(sq, sizes)
        q = Transpose <perm = [0,2,1,3]> (hq)
        sk = Slice(x, n16, n32, two)
        hk = Reshape(sk, sizes)
        k = Transpose <perm = [0,2,1,3]> (hk)
        sv = Slice(x, n32, n48, two)
        hv = Reshape(sv, sizes)
        v = Transpose <perm = [0,2,1,3]> (hv)]] },
    { "the last one of two, gathered", [[
        (float[2,5,32] x) => (float[2,2,5,8] y) <int64[5] apart = {2,5,2,2,8}, int64 last = {-1}> {
          c = Reshape(x, apart)
          t = Transpose <perm = [2,0,3,1,4]> (c)
          y = Gather <axis = 0> (t, last)
        }]],
      [[two = Constant <value = int64[1] {2}> ()
        from = Constant <value = int64[1] {16}> ()
        to = Constant <value = int64[1] {32}> ()
        sizes = Constant <value = int64[4] {0,0,2,8}> ()
        s = Slice(x, from, to, two)
        h = Reshape(s, sizes)
        y = Transpose <perm = [0,2,1,3]> (h)]] },
    { "the tokens are an axis of four", [[
        (float[2,B,S,48] x) => (float[2,2,B,8] y) <int64[5] apart = {0,0,3,2,8}, int64 first = {0}> {
          c = Reshape(x, apart)
          t = Transpose <perm = [2,0,3,1,4]> (c)
          y = Gather <axis = 0> (t, first)
        }]],
      rejected = "the tokens are not one axis" },
    { "a part that the model chooses when it runs", [[
        (float[2,5,32] x, int64 i) => (float[2,2,5,8] y) <int64[5] apart = {2,5,2,2,8}> {
          c = Reshape(x, apart)
          t = Transpose <perm = [2,0,3,1,4]> (c)
          y = Gather <axis = 0> (t, i)
        }]],
      rejected = "the part is not known" },
  },
}
