--- Compose attention whose heads are on more than one axis: windows, blocks, frames.
local attention = lib "attention"
local masking = lib "masking"
local merge = lib "merge"

-- Reshapes x to these sizes. If one is unknown or false, the Reshape computes it as -1, unless another size may be 0;
-- then `read` builds all sizes.
local function reshaped(op, x, sizes, read)
  local unknown, symbolic = nil, 0
  for i, size in ipairs(sizes) do
    if type(size) ~= "number" then
      symbolic = symbolic + 1
      if not size or size.unknown then unknown = i end
    end
  end
  if unknown and symbolic > 1 then return op.Reshape{x, read(), allowzero = 1} end
  if unknown then sizes[unknown] = -1 end
  return op.Reshape(x, sizes)
end

-- The sizes of some axes of x, as a value.
local function sizes_of(op, x, first, last) return op.Slice(op.Shape(x), {first}, {last}) end

-- x, broadcast to the leading sizes.
local function widened(op, x, leads)
  local wide, apart = {}, false
  for axis = 1, x:rank() do
    local own, size = x:dim(axis - 1), leads[axis]
    need(not size or own == size or own == 1, "an operand does not broadcast to the scores", x)
    wide[axis], apart = size or 1, apart or (size and own ~= size)
  end
  return apart and op.Expand(x, wide) or x
end

-- Reshapes x, [..., heads, _, _], to [product of leading sizes, heads, _, _]; to one head if heads are among the
-- leading axes.
local function folded(op, x, leads)
  local rank, merged = x:rank(), 1
  for _, size in ipairs(leads) do
    merged = type(merged) == "number" and type(size) == "number" and merged * size
  end
  x = widened(op, x, leads)
  local heads = #leads == rank - 2 and 1 or x:dim(rank - 3)
  return reshaped(op, x, {merged, heads, x:dim(rank - 2), x:dim(rank - 1)}, function()
    local count = op.ReduceProd{sizes_of(op, x, 0, #leads), keepdims = 1}
    return op.Concat{count, {heads}, sizes_of(op, x, rank - 2, rank), axis = 0}
  end)
end

-- The mask for scores whose leading axes were merged.
local function folded_mask(op, mask, leads, rank)
  local own = mask and mask:rank() or 0
  local kept, ones, missing = rank - #leads, {}, {}
  if own <= kept then return mask end
  for axis = 0, own - kept - 1 do
    if mask:dim(axis) == 1 then ones[#ones + 1] = axis end
  end
  if #ones == own - kept then return op.Squeeze(mask, ones) end
  for i = 1, rank - own do missing[i] = i - 1 end
  return folded(op, #missing > 0 and op.Unsqueeze(mask, missing) or mask, leads)
end

return rule {
  doc = [[
    softmax(s q k^T + mask) v   =>   split(ScaledDotProductAttention(merge(q), merge(k), merge(v), mask, scale = s))

    As compose_scaled_dot_product_attention on [B,H,S,D], with more axes before H, or with an unknown number of heads:
    merge makes one axis of them.]],
  phase = "attention",

  match = function(op, q, k, v, scale, q_scale, k_scale, S, E)
    q:shape "... _ _ S _"
    v:shape "... _ _ _ E"
    local keys = attention.scaled(op, k, k_scale, "k_divided")
    local scores = op.MatMul(attention.scaled(op, q, q_scale, "q_divided"), keys):as "product"
    scores = either(op.Mul(scores, scale), op.Div(scores, scale):as "divided", scores)
    return op.MatMul(attention.softmax(op, scores), v)
  end,

  where = function(m)
    local scores, sizes, leads = m.product.outputs[1], {}, {}
    local rank = scores:rank()
    need(m.q:rank() == rank and m.k:rank() == rank and m.v:rank() == rank, "the ranks differ", m.q)
    for _, x in ipairs{m.q, m.k, m.v} do merge.need_elements(x) end
    for i = 1, rank do sizes[i] = scores:dim(-i) end
    -- An unknown number of heads is one more axis to merge.
    local heads = type(sizes[3]) == "number" and sizes[3]
    need(rank > 4 or not heads, "four axes need no merge", scores)
    for i = 1, heads and rank - 3 or rank - 2 do leads[i] = scores:dim(i - 1) end
    m.leads, m.heads = leads, heads or 1
    m.numbers = masking.numbers(m, sizes)
  end,

  rewrite = function(op, m)
    local last = m.q:rank() - 1
    local perm = {}
    for i = 1, last + 1 do perm[i] = i - 1 end
    perm[last], perm[last + 1] = last, last - 1
    local q, v = folded(op, m.q, m.leads), folded(op, m.v, m.leads)
    local k = folded(op, op.Transpose{m.k, perm = perm}, m.leads)
    local mask = folded_mask(op, masking.mask(op, m, m.numbers), m.leads, last + 1)
    local y = attention.build(op, m, q, k, v, mask, q:dim(0), m.heads)
    local sizes = { m.S, m.E }
    for i = last - 1, 1, -1 do table.insert(sizes, 1, m.leads[i] or m.heads) end
    return reshaped(op, y, sizes, function()
      return op.Concat{sizes_of(op, widened(op, m.q, m.leads), 0, last), sizes_of(op, m.v, last, last + 1), axis = 0}
    end)
  end,

  examples = {
    { "windows, a mask for each", [[
        (float[2,5,4,8,16] q, float[2,5,4,8,16] k, float[2,5,1,8,16] v, float[5,1,8,8] m) => (float[2,5,4,8,16] y)
        <float c = {0.25}> {
          kt = Transpose <perm = [0,1,2,4,3]> (k)
          s = MatMul(q, kt)
          d = Mul(s, c)
          a = Add(d, m)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      [[s4 = Constant <value = int64[4] {10,4,8,16}> ()
        qm = Reshape(q, s4)
        s1 = Constant <value = int64[4] {10,1,8,16}> ()
        vm = Reshape(v, s1)
        kt = Transpose <perm = [0,1,2,4,3]> (k)
        kb = Transpose <perm = [0,1,2,4,3]> (kt)
        km = Reshape(kb, s4)
        axis = Constant <value = int64[1] {0}> ()
        mu = Unsqueeze(m, axis)
        wide = Constant <value = int64[5] {2,5,1,1,1}> ()
        me = Expand(mu, wide)
        sm = Constant <value = int64[4] {10,1,8,8}> ()
        mm = Reshape(me, sm)
        wv = Constant <value = int64[4] {10,4,1,1}> ()
        ve = Expand(vm, wv)
        a = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 16, scale = 0.25>
          (qm, km, ve, mm)
        s5 = Constant <value = int64[5] {2,5,4,8,16}> ()
        y = Reshape(a, s5)]] },
    { "an unknown number of windows", [[
        (float[2,4,N,8,16] q, float[2,4,N,8,16] k, float[2,4,N,8,16] v) => (float[2,4,N,8,16] y) {
          kt = Transpose <perm = [0,1,2,4,3]> (k)
          s = MatMul(q, kt)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      [[s4 = Constant <value = int64[4] {-1,1,8,16}> ()
        qm = Reshape(q, s4)
        vm = Reshape(v, s4)
        kt = Transpose <perm = [0,1,2,4,3]> (k)
        kb = Transpose <perm = [0,1,2,4,3]> (kt)
        km = Reshape(kb, s4)
        a = ruleengine.ScaledDotProductAttention <num_heads = 1, head_dim = 16, scale = 1.0> (qm, km, vm)
        s5 = Constant <value = int64[5] {2,4,-1,8,16}> ()
        y = Reshape(a, s5)]] },
    { "on four axes", [[
        (float[2,4,8,16] q, float[2,4,16,8] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          s = MatMul(q, k)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      rejected = "four axes need no merge" },
    { "an unknown number of heads", [[
        (float[B,H,8,16] q, float[B,H,16,8] k, float[B,H,8,16] v) => (float[B,H,8,16] y) {
          s = MatMul(q, k)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      [[one = Constant <value = int64[4] {-1,1,8,16}> ()
        qm = Reshape(q, one)
        vm = Reshape(v, one)
        kt = Transpose <perm = [0,1,3,2]> (k)
        km = Reshape(kt, one)
        a = ruleengine.ScaledDotProductAttention <num_heads = 1, head_dim = 16, scale = 1.0> (qm, km, vm)
        n = Shape <end = 2> (q)
        rest = Constant <value = int64[2] {8,16}> ()
        s = Concat <axis = 0> (n, rest)
        y = Reshape <allowzero = 1> (a, s)]] },
  },
}
