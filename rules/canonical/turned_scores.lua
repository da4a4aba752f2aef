--- Take the softmax of a product over its last axis, and transpose after it.
local axes = lib "axes"

-- The perm of p followed by q.
local function after(p, q)
  local perm = {}
  for i, axis in ipairs(q) do perm[i] = p[axis + 1] end
  return perm
end

local function inverse(p)
  local perm = {}
  for i, axis in ipairs(p) do perm[axis + 1] = i - 1 end
  return perm
end

local function moves(p)
  for i, axis in ipairs(p) do
    if axis ~= i - 1 then return true end
  end
  return false
end

-- Whether all readers of the softmax can use it transposed: a Transpose, or a product with it on the right.
local function helps(p)
  for _, user in ipairs(p.users) do
    if user.op ~= "Transpose" and (user.op ~= "MatMul" or user.inputs[2] ~= p) then return false end
  end
  return true
end

return rule {
  doc = [[
    softmax(f(transpose(a b), y))   =>   transpose(softmax(f(a b, transpose(y))))      softmax over columns of a b
                                    =>   transpose(softmax(f(b^T a^T, transpose(y))))  softmax over rows of a b

    f are sums, products with one number, and choices, in any number and order. The Transpose moves towards the outputs,
    until another Transpose cancels it, or the product with the values absorbs it.]],
  phase = "canonical",

  match = function(op, a, b, y, c)
    local function by_one_number(p)
      return function() c:const(); c:fits "1"; return p end
    end
    local product = op.MatMul(a, b):as "product"
    local scores = many(function(s)
      return either(by_one_number(op.Mul(s, c)), by_one_number(op.Div(s, c)), op.Add(s, y), op.Sub(s, y),
        op.Where(y, s, c), op.Where(y, c, s)):as "step"
    end, either(op.Transpose{product, perm = any}:as "turn", product))
    return op.Softmax{scores, attrs = any}:as "softmax"
  end,

  where = function(m)
    local product = m.product.outputs[1]
    local rank = need(product:rank(), "the rank is unknown", product)
    local axis = axes.from_front(m.softmax.attrs.axis, rank)
    need(axis >= 0 and axis < rank, "the softmax is over no axis", m.softmax)
    local turn, swap = {}, {}
    for i = 1, rank do turn[i], swap[i] = i - 1, i - 1 end
    swap[rank - 1], swap[rank] = rank - 1, rank - 2
    if m.turn then turn = need(axes.order(m.turn), "the order of axes is unknown", m.turn) end
    axis = turn[axis + 1]
    need(axis >= rank - 2, "the softmax is over a batch axis", m.softmax)
    need(m.a:rank() == rank and m.b:rank() == rank and not m.a:const() and not m.b:const(),
      "the operands are not computed scores", product)
    -- The transposition that makes the old softmax from the new one.
    m.swap, m.turned = axis == rank - 2 and swap, axis == rank - 2 and after(swap, turn) or turn
    need(m.turn or m.swap, "the softmax is over the last axis already", m.softmax)
    -- Otherwise transposed_product would transpose the result again, endlessly.
    local made = m.a.producer
    need(not m.swap or not made or made.op ~= "Softmax",
      "an operand is a softmax, so this is not a product of queries and keys", product)
    need(not moves(m.turned) or helps(m.softmax.outputs[1]), "nothing removes the Transpose", m.softmax)
    for _, step in ipairs(m.step) do
      need(step.outputs[1]:rank() == rank, "an op broadcasts the scores to a larger shape", step)
    end
  end,

  rewrite = function(op, m)
    local function turned(x, perm) return moves(perm) and op.Transpose{x, perm = perm} or x end
    local made = m.swap and op.MatMul(turned(m.b, m.swap), turned(m.a, m.swap)) or op.MatMul(m.a, m.b)
    local old, rank = (m.turn or m.product).outputs[1], #m.turned
    local function with_axes(x)
      local missing = {}
      for i = 1, rank - need(x:rank(), "the rank is unknown", x) do missing[i] = i - 1 end
      return #missing > 0 and op.Unsqueeze(x, missing) or x
    end
    for _, step in ipairs(m.step) do
      local inputs = {}
      for i, x in ipairs(step.inputs) do
        inputs[i] = x == old and made or x:fits "1" and x or turned(with_axes(x), inverse(m.turned))
      end
      made, old = step:with(inputs), step.outputs[1]
    end
    return turned(op.Softmax{made, axis = -1}, m.turned)
  end,

  examples = {
    { "scores whose heads come last", [[
        (float[2,4,8,16] q, float[2,4,16,6] k, float[8,6,2,4] bias, float[2,4,6,16] v) => (float[2,4,8,16] y)
        <float c = {0.25}> {
          s = MatMul(q, k)
          t = Transpose <perm = [2,3,0,1]> (s)
          a = Add(t, bias)
          d = Mul(a, c)
          p = Softmax <axis = 1> (d)
          u = Transpose <perm = [2,3,0,1]> (p)
          y = MatMul(u, v)
        }]],
      [[s = MatMul(q, k)
        b = Transpose <perm = [2,3,0,1]> (bias)
        a = Add(s, b)
        d = Mul(a, c)
        p = Softmax <axis = -1> (d)
        t = Transpose <perm = [2,3,0,1]> (p)
        u = Transpose <perm = [2,3,0,1]> (t)
        y = MatMul(u, v)]] },
    { "keys by queries", [[
        (float[2,6,16] k, float[2,16,8] q, float[6,1] m, float[2,16,6] v) => (float[2,16,8] y) {
          s = MatMul(k, q)
          a = Add(s, m)
          p = Softmax <axis = 1> (a)
          y = MatMul(v, p)
        }]],
      [[qt = Transpose <perm = [0,2,1]> (q)
        kt = Transpose <perm = [0,2,1]> (k)
        s = MatMul(qt, kt)
        axis = Constant <value = int64[1] {0}> ()
        u = Unsqueeze(m, axis)
        mt = Transpose <perm = [0,2,1]> (u)
        a = Add(s, mt)
        p = Softmax <axis = -1> (a)
        t = Transpose <perm = [0,2,1]> (p)
        y = MatMul(v, t)]] },
    { "softmax over the queries, which divides each key among them", [[
        (float[2,8,16] q, float[2,16,6] k, float[2,6,16] v) => (float[2,8,16] y) {
          s = MatMul(q, k)
          p = Softmax <axis = 1> (s)
          y = MatMul(p, v)
        }]],
      rejected = "nothing removes the Transpose" },
  },
}
