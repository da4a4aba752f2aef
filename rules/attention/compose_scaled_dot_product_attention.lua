--- Compose the textbook attention subgraph into one node.
local attention = lib "attention"
local heads = lib "heads"
local masking = lib "masking"

return rule {
  doc = [[
    softmax(s q k^T + mask) v   =>   ScaledDotProductAttention(q, k, v, mask, scale = s)

    The scale multiplies or divides the scores, before or after masks, or q and k; several scales are multiplied, and a
    scale for each head is applied to q. A soft cap is a tanh between scale and mask. Masks are added, subtracted, and
    chosen by Where, in any number and order; a scale after them scales them too. Dropout becomes dropout_p. Key and
    value heads that Expand repeats, or one for all, are not repeated. Scores with other readers stay for them. A sink,
    one more score in each row whose probability is dropped, becomes a key and a value of zeros with the sink as its
    mask. If float16 operands are multiplied or masked in float, the attention is in float; so it is if float16 scores
    are replaced by a finite number. A Reshape may state the shape of the scores (sized_scores).]],
  phase = "attention",
  after = "fuse_masked_attention",

  match = function(op, q, k, v, swapped, scale, q_scale, k_scale, head_scale, B, H, S, T, E)
    q:shape "_ _ S _"
    v:shape "_ _ _ E"

    local keys = attention.transposed(op, k, "split", swapped)
    keys = attention.scaled(op, keys, k_scale, "k_divided")
    local scores = context(op.MatMul(attention.scaled(op, q, q_scale, "q_divided"), keys):shape "B H S T")
    scores = either(
      function() head_scale:shape "... H 1 1"; return op.Mul(scores, head_scale) end,
      context(op.Mul(scores, scale)), context(op.Div(scores, scale):as "divided"), scores)
    local weights = attention.softmax_or_sunk(op, scores)
    weights = either(op.Reshape{weights, any, allowzero = any}:as "kept", weights)
    return op.MatMul(weights, heads.repeated(op, v, "L", "E"))
  end,

  where = function(m)
    m.sizes = {m.T, m.S, m.H, m.B}
    m.numbers = masking.numbers(m, m.sizes)
    if m.kept then masking.need_kept(m.kept.outputs[1], m.sizes) end
    masking.need_sink(m, m.sizes)
  end,

  rewrite = function(op, m)
    local q, k, v, mask = m.q, m.k, m.v, masking.mask(op, m, m.numbers)
    if m.head_scale then q = op.Mul(q, m.head_scale) end
    if m.split then k = op.Transpose{k, perm = {0, 2, 1, 3}} end
    if m.swapped then k = op.Transpose{m.swapped, perm = {0, 1, 3, 2}} end
    if m.sunk then
      local one_more = {0, 0, 0, 0, 0, 0, 1, 0}
      k, v, mask = op.Pad(k, one_more), op.Pad(v, one_more), masking.sink_mask(op, m, mask, m.sizes)
    end
    return attention.build(op, m, q, k, v, mask, m.B, m.H)
  end,

  examples = {
    { "divided", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) <float c = {4.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          p = Softmax <axis = -1> (d)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v)" },
    { "half of the scale on either side, a mask, and a guard against rows without any key", [[
        (float[B,4,S,16] q, float[B,4,T,16] k, float[B,4,T,16] v, float[B,1,S,T] mask) => (float[B,4,S,16] y)
        <float c = {0.5}, float zero = {0.0}> {
          qs = Mul(q, c)
          kt = Transpose <perm = [0,1,3,2]> (k)
          ks = Mul(kt, c)
          s = MatMul(qs, ks)
          a = Add(s, mask)
          p = Softmax <axis = -1> (a)
          n = IsNaN(p)
          g = Where(n, zero, p)
          y = MatMul(g, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v, mask)" },
    { "a guard without a mask, for scores that overflow", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) <float zero = {0.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          p = Softmax <axis = -1> (s)
          n = IsNaN(p)
          g = Where(n, zero, p)
          y = MatMul(g, v)
        }]],
      [[none = Constant <value = float[1] {0.0}> ()
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, none)]] },
    { "the scale after the mask", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[2,1,8,8] mask) => (float[2,4,8,16] y)
        <float c = {0.25}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Add(s, mask)
          d = Mul(a, c)
          p = Softmax <axis = -1> (d)
          y = MatMul(p, v)
        }]],
      [[scaled = Mul(mask, c)
        y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 0.25>
          (q, k, v, scaled)]] },
    { "heads repeated by Expand stay few", [[
        (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v) => (float[2,4,8,16] y)
        <float c = {4.0}, int64[1] two = {2}, int64[5] wide = {2,2,2,8,16}, int64[4] heads = {2,4,8,16}> {
          ku = Unsqueeze(k, two)
          ke = Expand(ku, wide)
          kr = Reshape(ke, heads)
          vu = Unsqueeze(v, two)
          ve = Expand(vu, wide)
          vr = Reshape(ve, heads)
          kt = Transpose <perm = [0,1,3,2]> (kr)
          s = MatMul(q, kt)
          d = Div(s, c)
          p = Softmax <axis = -1> (d)
          y = MatMul(p, vr)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v)" },
    { "heads of keys alone are repeated", [[
        (float[2,4,8,16] q, float[2,2,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y)
        <int64[1] two = {2}, int64[5] wide = {2,2,2,8,16}, int64[4] heads = {2,4,8,16}> {
          ku = Unsqueeze(k, two)
          ke = Expand(ku, wide)
          kr = Reshape(ke, heads)
          kt = Transpose <perm = [0,1,3,2]> (kr)
          s = MatMul(q, kt)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      [[ku = Unsqueeze(k, two)
        twice = Constant <value = int64[5] {1,1,2,1,1}> ()
        ke = Expand(ku, twice)
        kr = Reshape(ke, heads)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, kr, v)]] },
    { "one head of keys and values for all, which are there for one batch", [[
        (float[2,4,8,16] q, float[2,1,6,16] k, float[1,1,6,16] v) => (float[2,4,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      [[n = Constant <value = int64[4] {2,1,1,1}> ()
        w = Expand(v, n)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, w)]] },
    { "batches of different names", [[
        (float[A,4,S,16] q, float[B,4,T,16] k, float[B,4,T,16] v) => (float[C,4,S,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v)",
      assumed = "queries, keys and values have the same batch size" },
    { "masks of unknown sizes, and Reshapes to the shape that the scores had", [[
        (float[B,4,S,16] q, float[B,4,T,16] k, float[B,4,T,16] v, float[L,1,M,N] m) => (float[B,4,S,16] y)
        <float tiny = {1e-9}, int64[1] four = {4}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Add(s, m)
          b = Shape <end = 1> (q)
          l = Shape <start = 2, end = 3> (q)
          t = Shape <start = 2, end = 3> (k)
          shape = Concat <axis = 0> (b, four, l, t)
          r = Reshape <allowzero = 1> (a, shape)
          c = Add(r, tiny)
          p = Softmax <axis = -1> (c)
          w = Reshape <allowzero = 1> (p, shape)
          y = MatMul(w, v)
        }]],
      [[mask = Add(m, tiny)
        y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0>
          (q, k, v, mask)]],
      assumed = "no mask makes the scores larger" },
    { "masks and scales by turns, less the largest of each row, with a floor", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[2,1,1,8] m, float[4,8,8] n)
          => (float[2,4,8,16] y)
        <float c = {0.25}, float lowest = {-3.4e38}, int64[1] last = {-1}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Sub(s, m)
          d = Mul(a, c)
          b = Add(n, d)
          f = Max(b, lowest)
          r = ReduceMax <keepdims = 1> (f, last)
          e = Sub(f, r)
          p = Softmax <axis = -1> (e)
          y = MatMul(p, v)
        }]],
      [[t = Neg(m)
        u = Mul(t, c)
        w = Add(u, n)
        mask = Max(w, lowest)
        y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 0.25>
          (q, k, v, mask)]],
      assumed = "scores between -1e13 and 1e13" },
    { "zeros where the mask hides, after the softmax too", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,1,8] hide) => (float[2,4,8,16] y)
        <float fill = {-1e9}, float zero = {0.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          w = Where(hide, fill, s)
          p = Softmax <axis = -1> (w)
          z = Where(hide, zero, p)
          y = MatMul(z, v)
        }]],
      [[keep = Not(hide)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, keep)]],
      assumed = "scores between -9,900 and 1e13" },
    { "a mask of -1e9 and no other", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,1,8] keep) => (float[2,4,8,16] y)
        <float fill = {-1e9}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          w = Where(keep, s, fill)
          p = Softmax <axis = -1> (w)
          y = MatMul(p, v)
        }]],
      [[zero = Constant <value = float {0.0}> ()
        hiding = Constant <value = float {-1e30}> ()
        mask = Where(keep, zero, hiding)
        y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0>
          (q, k, v, mask)]],
      assumed = "scores between -9,900 and 1e13" },
    { "a choice in float16, which has no number that hides so much", [[
        (float16[2,4,8,16] q, float16[2,4,8,16] k, float16[2,4,8,16] v, bool[2,1,1,8] keep) => (float16[2,4,8,16] y)
        <float16 fill = {-10000.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          w = Where(keep, s, fill)
          p = Softmax <axis = -1> (w)
          y = MatMul(p, v)
        }]],
      [[zero = Constant <value = float {0.0}> ()
        hiding = Constant <value = float {-1e30}> ()
        mask = Where(keep, zero, hiding)
        qf = Cast <to = 1> (q)
        kf = Cast <to = 1> (k)
        vf = Cast <to = 1> (v)
        yf = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0>
          (qf, kf, vf, mask)
        y = Cast <to = 10> (yf)]],
      assumed = "scores between -9,900 and 1e13" },
    { "GPT-2 as it was exported of old: a causal choice of -1e4, and as much is added where a token is padding", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[1,1,8,8] causal, float[2,1,1,8] seen)
          => (float[2,4,8,16] y) <float c = {8.0}, float fill = {-1e4}, float one = {1.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          w = Where(causal, d, fill)
          u = Sub(one, seen)
          n = Mul(u, fill)
          a = Add(w, n)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      [[u = Sub(one, seen)
        n = Mul(u, fill)
        zero = Constant <value = float {0.0}> ()
        hiding = Constant <value = float {-1e30}> ()
        m = Where(causal, zero, hiding)
        mask = Add(m, n)
        y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 0.125>
          (q, k, v, mask)]],
      assumed = "each query sees a key whose score, masks added, is above -9,900" },
    { "attention between channels, of images of any size", [[
        (float[2,4,8,N] q, float[2,4,8,N] k, float[2,4,8,N] v) => (float[2,4,8,N] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, scale = 1.0> (q, k, v)" },
    { "softmax of halves in float", [[
        (float16[2,4,8,16] q, float16[2,4,8,16] k, float16[2,4,8,16] v, float16[2,1,8,8] m) => (float16[2,4,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Add(s, m)
          w = Cast <to = 1> (a)
          p = Softmax <axis = -1> (w)
          h = Cast <to = 10> (p)
          y = MatMul(h, v)
        }]],
      [[y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0>
          (q, k, v, m)]] },
    { "scores of halves that are masked in float", [[
        (float16[2,4,8,16] q, float16[2,4,8,16] k, float16[2,4,8,16] v, float[2,1,8,8] m) => (float16[2,4,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          w = Cast <to = 1> (s)
          a = Add(w, m)
          p = Softmax <axis = -1> (a)
          h = Cast <to = 10> (p)
          y = MatMul(h, v)
        }]],
      [[qf = Cast <to = 1> (q)
        kf = Cast <to = 1> (k)
        vf = Cast <to = 1> (v)
        yf = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0>
          (qf, kf, vf, m)
        y = Cast <to = 10> (yf)]], assumed = "no product of a query and a key is beyond 65,504" },
    { "a sink for each head", [[
        (float[2,4,8,16] q, float[2,4,6,16] k, float[2,4,6,16] v, float[2,1,1,6] m, float[1,4,1,1] sink)
          => (float[2,4,8,16] y)
        <int64[4] wide = {2,4,8,1}, int64[1] from = {0}, int64[1] to = {-1}, int64[1] last = {3}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Add(s, m)
          e = Expand(sink, wide)
          c = Concat <axis = -1> (a, e)
          r = ReduceMax <keepdims = 1> (c, to)
          d = Sub(c, r)
          p = Softmax <axis = -1> (d)
          z = Slice(p, from, to, last)
          y = MatMul(z, v)
        }]],
      [[one = Constant <value = int64[8] {0,0,0,0,0,0,1,0}> ()
        kp = Pad(k, one)
        vp = Pad(v, one)
        shown = Constant <value = int64[4] {2,4,1,6}> ()
        me = Expand(m, shown)
        column = Constant <value = int64[4] {2,4,1,1}> ()
        se = Expand(sink, column)
        mask = Concat <axis = -1> (me, se)
        y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0>
          (q, kp, vp, mask)]] },
    { "a sink of zero", [[
        (float[2,4,8,16] q, float[2,4,6,16] k, float[2,4,6,16] v) => (float[2,4,8,16] y)
        <int64[8] pads = {0,0,0,0,0,0,0,1}, int64[1] from = {0}, int64[1] to = {-1}, int64[1] last = {3}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          c = Pad(s, pads)
          p = Softmax <axis = -1> (c)
          z = Slice(p, from, to, last)
          y = MatMul(z, v)
        }]],
      [[one = Constant <value = int64[8] {0,0,0,0,0,0,1,0}> ()
        kp = Pad(k, one)
        vp = Pad(v, one)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, kp, vp)]] },
    { "the first key of the sum is left out", [[
        (float[2,4,8,16] q, float[2,4,6,16] k, float[2,4,6,16] v, float[2,4,8,1] sink) => (float[2,4,8,16] y)
        <int64[1] from = {0}, int64[1] to = {6}, int64[1] last = {3}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          c = Concat <axis = -1> (sink, s)
          p = Softmax <axis = -1> (c)
          z = Slice(p, from, to, last)
          y = MatMul(z, v)
        }]],
      [[kt = Transpose <perm = [0,1,3,2]> (k)
        s = MatMul(q, kt)
        c = Concat <axis = -1> (sink, s)
        p = Softmax <axis = -1> (c)
        z = Slice(p, from, to, last)
        y = MatMul(z, v)]] },
    { "scores that are read elsewhere", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y, float[2,4,8,8] d)
        <float c = {4.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          p = Softmax <axis = -1> (d)
          y = MatMul(p, v)
        }]],
      [[kt = Transpose <perm = [0,1,3,2]> (k)
        s = MatMul(q, kt)
        d = Div(s, c)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v)]] },
    { "a soft cap, and a scale for each head", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[4,1,1] h) => (float[2,4,8,16] y)
        <float c = {50.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          m = Mul(s, h)
          d = Div(m, c)
          t = Tanh(d)
          u = Mul(t, c)
          p = Softmax <axis = -1> (u)
          y = MatMul(p, v)
        }]],
      [[qs = Mul(q, h)
        y = ruleengine.ScaledDotProductAttention
          <num_heads = 4, head_dim = 16, scale = 1.0, softcap = 50.0> (qs, k, v)]] },
    { "two queries share the transposed key", [[
        (float[2,4,8,16] q, float[2,4,8,16] q2, float[2,4,8,16] k, float[2,4,8,16] v)
          => (float[2,4,8,16] y, float[2,4,8,16] z) <float c = {4.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          p = Softmax <axis = -1> (d)
          y = MatMul(p, v)
          s2 = MatMul(q2, kt)
          d2 = Div(s2, c)
          p2 = Softmax <axis = -1> (d2)
          z = MatMul(p2, v)
        }]],
      [[y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v)
        z = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q2, k, v)]] },
    { "centred between two masks: a row that the first hides as a whole is told apart by the second", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[2,1,1,8] m, float[4,8,8] n)
          => (float[2,4,8,16] y)
        <int64[1] last = {-1}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Add(s, m)
          r = ReduceMax <keepdims = 1> (a, last)
          e = Sub(a, r)
          b = Add(e, n)
          p = Softmax <axis = -1> (b)
          y = MatMul(p, v)
        }]],
      rejected = "the scores are centred between two masks" },
    { "and so by a guard", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[2,1,1,8] m, bool[8,8] hide)
          => (float[2,4,8,16] y)
        <int64[1] last = {-1}, float fill = {-3e38}, float zero = {0.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Add(s, m)
          r = ReduceMax <keepdims = 1> (a, last)
          e = Sub(a, r)
          f = Where(hide, fill, e)
          p = Softmax <axis = -1> (f)
          z = Where(hide, zero, p)
          y = MatMul(z, v)
        }]],
      rejected = "the scores are centred between two masks" },
    { "as many keys as values, by another name", [[
        (float[2,4,8,16] q, float[2,4,N,16] k, float[2,4,8,16] v, float[2,1,8,1] m) => (float[2,4,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      [[y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0>
          (q, k, v, m)]] },
    { "a finite guard beside a finite mask: what both hide weighs something in the guard alone", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[8,8] keep, bool[8,8] hide) => (float[2,4,8,16] y)
        <float fill = {-3e38}, float zero = {0.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          a = Where(keep, s, fill)
          f = Where(hide, fill, a)
          p = Softmax <axis = -1> (f)
          z = Where(hide, zero, p)
          y = MatMul(z, v)
        }]],
      [[fill2 = Constant <value = float {-3e38}> ()
        zero2 = Constant <value = float {0.0}> ()
        m = Where(keep, zero2, fill2)
        shown = Not(hide)
        never = Constant <value = float {-inf}> ()
        mask = Where(shown, m, never)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, mask)]],
      assumed = "each query sees a key whose score, masks added, is above -9,900" },
    { "a finite guard beside scores of positions, which hide nothing", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[16,8] r, bool[8,8] hide) => (float[2,4,8,16] y)
        <float fill = {-3e38}, float zero = {0.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          b = MatMul(q, r)
          a = Add(s, b)
          f = Where(hide, fill, a)
          p = Softmax <axis = -1> (f)
          z = Where(hide, zero, p)
          y = MatMul(z, v)
        }]],
      [[b = MatMul(q, r)
        shown = Not(hide)
        never = Constant <value = float {-inf}> ()
        mask = Where(shown, b, never)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, mask)]],
      assumed = "scores between -1e13 and 1e13" },
    { "a scale of run time", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float c) => (float[2,4,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          p = Softmax <axis = -1> (d)
          y = MatMul(p, v)
        }]],
      rejected = "the scale is not a constant" },
    { "a mask that chooses between scores and a small number", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,1,8] keep) => (float[2,4,8,16] y)
        <float fill = {-100.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          w = Where(keep, s, fill)
          p = Softmax <axis = -1> (w)
          y = MatMul(p, v)
        }]],
      rejected = "the fill of the mask hides too little" },
  },
}
