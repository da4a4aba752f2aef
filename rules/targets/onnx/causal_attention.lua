--- Causal attention without its mask.
local causal = lib "causal"

return rule {
  doc = [[
    Attention(q, k, v, mask)   =>   Attention(q, k, v, is_causal = 1)   if the mask hides all later keys, and only these

    The mask is not computed, and no layer reads it.]],
  phase = "target",

  match = function(op, q, k, v, mask, scale, heads, key_heads, precision)
    return op.Attention{q, k, v, mask, q_num_heads = heads, kv_num_heads = key_heads, scale = scale,
      softmax_precision = precision}
  end,

  where = function(m, op)
    local rows = m.q:dim(-2)
    need(rows and m.k:dim(-2) == rows, "queries and keys have different lengths", m.q)
    local found = need(causal.of(op, m.mask, rows), "the mask is not known to be causal", m.mask)
    need(found.alone, "the mask hides more than later keys", m.mask)
    assume("no score is NaN or infinite", m.mask)
    causal.assume_fill(found, m.mask)
  end,

  rewrite = function(op, m)
    return op.Attention{m.q, m.k, m.v, is_causal = 1, q_num_heads = m.heads, kv_num_heads = m.key_heads,
      scale = m.scale, softmax_precision = m.precision}
  end,

  examples = {
    { "a constant", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,3,16] q, float[2,4,3,16] k, float[2,4,3,16] v) => (float[2,4,3,16] y)
        <bool[1,1,3,3] mask = {1, 0, 0, 1, 1, 0, 1, 1, 1}> {
          y = Attention <scale = 0.5> (q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1, scale = 0.5> (q, k, v)", assumed = "no score is NaN or infinite" },
    { "numbers", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,64] q, float[2,3,64] k, float[2,3,64] v) => (float[2,3,64] y)
        <float[3,3] mask = {0, -10000, -10000, 0, 0, -10000, 0, 0, 0}> {
          y = Attention <q_num_heads = 4, kv_num_heads = 4> (q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1, q_num_heads = 4, kv_num_heads = 4> (q, k, v)",
      assumed = "scores between -4,900 and 4,900" },
    { "cut from a buffer", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[B,4,S,16] q, float[B,4,S,16] k, float[B,4,S,16] v) => (float[B,4,S,16] y)
        <bool[1,1,3,3] buffer = {1, 0, 0, 1, 1, 0, 1, 1, 1}, int64[1] first = {0}, int64[1] rows = {2},
          int64[1] columns = {3}> {
          to = Shape <start = 2, end = 3> (q)
          cut = Slice(buffer, first, to, rows)
          mask = Slice(cut, first, to, columns)
          y = Attention(q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1> (q, k, v)", assumed = "no score is NaN or infinite" },
    { "positions are compared, and the number is as low as can be", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[B,4,S,16] q, float[B,4,S,16] k, float[B,4,S,16] v) => (float[B,4,S,16] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] last = {1}, int64[2] first = {0, 1}, int64[1] axis = {0},
         float keep = {0.0}, float hide = {-3.4e38}> {
          size = Shape <start = 2, end = 3> (q)
          all = Squeeze(size, axis)
          places = Range(zero, all, one)
          column = Unsqueeze(places, last)
          seen = LessOrEqual(places, column)
          numbers = Where(seen, keep, hide)
          mask = Unsqueeze(numbers, first)
          y = Attention(q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1> (q, k, v)", assumed = "scores between -1e13 and 1e13" },
    { "a triangle of -inf", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[B,4,S,16] q, float[B,4,S,16] k, float[B,4,S,16] v) => (float[B,4,S,16] y) <int64 one = {1}> {
          size = Shape <start = 2, end = 3> (q)
          sizes = Concat <axis = 0> (size, size)
          full = ConstantOfShape <value = float[1] {-inf}> (sizes)
          mask = Trilu <upper = 1> (full, one)
          y = Attention(q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1> (q, k, v)", assumed = "no score is NaN or infinite" },
    { "one minus what is seen, times a number", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[B,4,S,16] q, float[B,4,S,16] k, float[B,4,S,16] v) => (float[B,4,S,16] y)
        <float one = {1.0}, float hide = {-1.0e9}> {
          size = Shape <start = 2, end = 3> (q)
          sizes = Concat <axis = 0> (size, size)
          full = ConstantOfShape <value = float[1] {1.0}> (sizes)
          seen = Trilu <upper = 0> (full)
          hidden = Sub(one, seen)
          mask = Mul(hidden, hide)
          y = Attention(q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1> (q, k, v)", assumed = "scores between -4,900 and 4,900" },
    { "later keys are hidden, in all heads", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[B,4,S,16] q, float[B,4,S,16] k, float[B,4,S,16] v) => (float[B,4,S,16] y)
        <int64 zero = {0}, int64 one = {1}, int64[2] column = {-1, 1}, int64[1] axis = {0}, bool yes = {1},
         int64[2] heads = {1, 4}, float keep = {0.0}, float hide = {-inf}> {
          size = Shape <start = 2, end = 3> (q)
          all = Squeeze(size, axis)
          places = Range(zero, all, one)
          after = Add(one, places)
          rows = Reshape(after, column)
          keys = Cast <to = 1> (places)
          queries = Cast <to = 1> (rows)
          seen = Less(keys, queries)
          sizes = Concat <axis = 0> (heads, size, size)
          wide = Expand(yes, sizes)
          shown = And(wide, seen)
          hidden = Not(shown)
          low = Where(hidden, hide, keep)
          mask = Add(low, keep)
          y = Attention(q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1> (q, k, v)", assumed = "no score is NaN or infinite" },
    { "padding is hidden too", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,3,16] q, float[2,4,3,16] k, float[2,4,3,16] v, bool[2,1,1,3] tokens) => (float[2,4,3,16] y)
        <bool[3,3] seen = {1, 0, 0, 1, 1, 0, 1, 1, 1}> {
          mask = And(seen, tokens)
          y = Attention(q, k, v, mask)
        }]],
      rejected = "the mask hides more than later keys" },
    { "a mask that is given", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,3,16] q, float[2,4,3,16] k, float[2,4,3,16] v, bool[3,3] mask) => (float[2,4,3,16] y) {
          y = Attention(q, k, v, mask)
        }]],
      rejected = "the mask is not known to be causal" },
  },
}
