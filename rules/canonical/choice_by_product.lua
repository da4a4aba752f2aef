--- Choose by Where instead of multiplying by zeros and ones.
local elements = lib "elements"

local HIDES = { Add = true, Div = true, Mul = true, Sub = true, Where = true }

-- Whether x consists of zeros and ones: booleans as numbers, or parts of such a constant.
local function is_choice(x)
  x = elements.origin(x)
  local node = x.producer
  if node and node.op == "Cast" and node.inputs[1].dtype == "bool" then return true end
  return x:among(0, 1)
end

-- Whether a constant sets parts of x to -inf, at most `steps` nodes before: 0 times -inf is NaN.
local function holds_infinity(x, steps)
  if x:const() then return x:among(0, -math.huge) and not x:among(0) end
  local node = x.producer
  if steps == 0 or not node or not HIDES[node.op] and not elements.moves(node) then return false end
  for _, input in ipairs(node.inputs) do
    if holds_infinity(input, steps - 1) then return true end
  end
  return false
end

-- Ops that may be between scores and their softmax, and between probabilities and their product with values.
local BETWEEN = { Add = true, Cast = true, Clip = true, Concat = true, Div = true, Dropout = true, Identity = true,
  Max = true, Mul = true, Pad = true, Slice = true, Sub = true, Where = true }

-- Whether such an op, or attention, reads y, within a few nodes and branches.
local function leads_to(op, y, steps)
  if #y.users > 4 then return false end
  for _, user in ipairs(y.users) do
    if user.op == op or user.domain == "ruleengine" then return true end
    local goes_on = steps > 0 and (BETWEEN[user.op] or elements.moves(user))
    if goes_on and leads_to(op, user.outputs[1], steps - 1) then return true end
  end
  return false
end

-- The number in y where b is 0; where b is 1, y is 0.
local function only_number(b, y)
  local ones, numbers = b:constant(), y:constant()
  need(ones and b.shape == y.shape, "the summand is not a constant of the same shape", y)
  local number
  for i, one in ipairs(ones) do
    if one == 0 then number = number or numbers[i] end
    need(numbers[i] == (one == 0 and number or 0), "the summand does not match the zeros and ones", y)
  end
  return number or 0
end

return rule {
  doc = [[
    x b + c (1 - b)        =>   Where(b, x, c)               b: zeros and ones
    x num(k) + c num(!k)   =>   Where(k, x, c)               k: booleans
    softmax(x) b           =>   Where(b, softmax(x), 0)

    The form of masks before Where existed; the summand may be a constant. A product of 0 with NaN or infinity is
    NaN, so this only applies to scores and probabilities.]],
  phase = "canonical",

  match = function(op, x, b, c, y, keep, hide)
    y:const()
    local function chosen_by(keep, hide)
      local function number(k) return context(op.Cast{k, to = any}) end
      return function()
        c:const()
        return op.Add(op.Mul(number(keep), x), op.Mul(number(hide), c)):as "more"
      end
    end
    local function weighed()
      local weights = op.Mul(op.Softmax{x, axis = -1}:as "softmax", b):as "weights"
      never(op.Add(weights, op.Mul(any, 0)))
      return weights
    end
    local chosen, other = op.Mul(x, b), op.Mul(op.Sub(1, b), c)
    local turned = op.Mul(op.Sub(b, 1), c)
    return either(
      chosen_by(keep, context(op.Not(keep))), chosen_by(context(op.Not(hide)), hide),
      op.Add(chosen, other):as "more", op.Sub(chosen, turned):as "more", op.Sub(chosen, other):as "less",
      op.Add(chosen, turned):as "less", function() b:const "... _ _"; return op.Add(chosen, y):as "more" end,
      weighed)
  end,

  where = function(m)
    need(not m.b or is_choice(m.b), "the factors are not known to be zeros and ones", m.b)
    need(not holds_infinity(m.x, 5), "some scores are -inf, and 0 times -inf is NaN", m.x)
    m.number = m.y and only_number(m.b, m.y)
    if m.softmax then
      need(leads_to("MatMul", m.weights.outputs[1], 4), "the probabilities are not multiplied with values", m.b)
      assume("no probability is NaN", m.x)
      return
    end
    local y = (m.more or m.less).outputs[1]
    if m.c and m.c:scalar() == 0 and m.x.producer and m.x.producer.op == "Softmax" then
      need(leads_to("MatMul", y, 4), "the probabilities are not multiplied with values", m.x)
      assume("no probability is NaN", m.x)
      return
    end
    need(leads_to("Softmax", y, 6), "the numbers are not scores of a softmax", m.x)
    local number = m.number or need(m.c:scalar(), "the other factor is not one constant", m.c)
    need(m.y or number - number == 0, "the other factor is infinite, and 0 times infinity is NaN", m.c)
    assume("no score is NaN or infinite", m.x)
  end,

  rewrite = function(op, m)
    if m.hide then return op.Where(m.hide, m.c, m.x) end
    if m.keep then return op.Where(m.keep, m.x, m.c) end
    if m.softmax then return op.Where(op.Cast{m.b, to = "bool"}, op.Softmax{m.x, axis = -1}, 0) end
    return op.Where(op.Cast{m.b, to = "bool"}, m.x, m.number or m.less and op.Neg(m.c) or m.c)
  end,

  examples = {
    { "causal attention in an old form", [[
        (float[2,4,8,8] x, int64[1] n) => (float[2,4,8,8] y)
        <float[1,1,2,2] t = {1.0,0.0,1.0,1.0}, int64[1] from = {0}, int64[1] axis = {2}, int64[4] wide = {1,1,8,8},
         float one = {1.0}, float c = {10000.0}> {
          p = Slice(t, from, n, axis)
          b = Expand(p, wide)
          a = Mul(x, b)
          d = Sub(one, b)
          e = Mul(d, c)
          s = Sub(a, e)
          y = Softmax <axis = -1> (s)
        }]],
      [[p = Slice(t, from, n, axis)
        b = Expand(p, wide)
        shown = Cast <to = 9> (b)
        low = Constant <value = float {-10000.0}> ()
        s = Where(shown, x, low)
        y = Softmax <axis = -1> (s)]], assumed = "no score is NaN or infinite" },
    { "the summand is a constant", [[
        (float[2,3] x) => (float[2,3] y) <float[1,3] b = {1.0,0.0,1.0}, float[1,3] c = {0.0,-9.0,0.0}> {
          a = Mul(b, x)
          s = Add(c, a)
          y = Softmax <axis = -1> (s)
        }]],
      [[shown = Constant <value = bool[1,3] {1,0,1}> ()
        low = Constant <value = float {-9.0}> ()
        s = Where(shown, x, low)
        y = Softmax <axis = -1> (s)]], assumed = "no score is NaN or infinite" },
    { "a choice between scores and a number, and between their probabilities and 0, before Where existed", [[
        (float[2,4,8,8] x, bool[2,1,8,8] k, float[2,4,8,16] v) => (float[2,4,8,16] y)
        <float low = {-1e9}, float zero = {0.0}> {
          one = Cast <to = 1> (k)
          n = Not(k)
          other = Cast <to = 1> (n)
          a = Mul(one, x)
          b = Mul(low, other)
          s = Add(a, b)
          p = Softmax <axis = -1> (s)
          c = Mul(one, p)
          d = Mul(zero, other)
          w = Add(c, d)
          y = MatMul(w, v)
        }]],
      [[s = Where(k, x, low)
        p = Softmax <axis = -1> (s)
        w = Where(k, p, zero)
        y = MatMul(w, v)]], assumed = "no probability is NaN" },
    { "a choice by what hides", [[
        (float[2,4,8,8] x, bool[2,1,8,8] h) => (float[2,4,8,8] y) <float low = {-1e9}> {
          k = Not(h)
          one = Cast <to = 1> (k)
          other = Cast <to = 1> (h)
          a = Mul(one, x)
          b = Mul(low, other)
          s = Add(a, b)
          y = Softmax <axis = -1> (s)
        }]],
      "s = Where(h, low, x) y = Softmax <axis = -1> (s)", assumed = "no score is NaN or infinite" },
    { "zeros and ones of two masks", [[
        (float[2,4,8,8] x, bool[2,1,8,8] k, bool[2,1,8,8] h) => (float[2,4,8,8] y) <float low = {-1e9}> {
          one = Cast <to = 1> (k)
          other = Cast <to = 1> (h)
          a = Mul(one, x)
          b = Mul(low, other)
          s = Add(a, b)
          y = Softmax <axis = -1> (s)
        }]],
      [[one = Cast <to = 1> (k)
        other = Cast <to = 1> (h)
        a = Mul(one, x)
        b = Mul(low, other)
        s = Add(a, b)
        y = Softmax <axis = -1> (s)]] },
    { "probabilities", [[
        (float[2,3] x, bool[3] b, float[3,4] v) => (float[2,4] y) {
          p = Softmax <axis = -1> (x)
          f = Cast <to = 1> (b)
          w = Mul(p, f)
          y = MatMul(w, v)
        }]],
      [[p = Softmax <axis = -1> (x)
        f = Cast <to = 1> (b)
        c = Cast <to = 9> (f)
        zero = Constant <value = float {0.0}> ()
        w = Where(c, p, zero)
        y = MatMul(w, v)]], assumed = "no probability is NaN" },
    { "numbers that are not scores: 0 times NaN is NaN", [[
        (float[2,3] x, bool[2,3] k) => (float[2,3] y) <float one = {1.0}, float c = {-10000.0}> {
          b = Cast <to = 1> (k)
          a = Mul(x, b)
          d = Sub(one, b)
          e = Mul(d, c)
          y = Add(a, e)
        }]],
      rejected = "the numbers are not scores of a softmax" },
    { "probabilities without values", [[
        (float[2,3] x, bool[3] b) => (float[2,3] y) {
          p = Softmax <axis = -1> (x)
          f = Cast <to = 1> (b)
          y = Mul(p, f)
        }]],
      rejected = "the probabilities are not multiplied with values" },
    { "-inf, which is subtracted everywhere", [[
        (float[2,3] x, bool[2,3] k) => (float[2,3] y) <float one = {1.0}, float c = {-inf}> {
          b = Cast <to = 1> (k)
          a = Mul(x, b)
          d = Sub(one, b)
          e = Mul(d, c)
          s = Add(a, e)
          y = Softmax <axis = -1> (s)
        }]],
      rejected = "the other factor is infinite" },
    { "a scale and a shift", [[
        (float[2,3] x) => (float[2,3] y) <float[1,3] b = {1.0,0.0,1.0}, float[1,3] c = {0.0,-9.0,1.0}> {
          a = Mul(b, x)
          y = Add(c, a)
        }]],
      rejected = "the summand does not match the zeros and ones" },
    { "one number for all", [[
        (float[2,3] x) => (float[2,3] y) <float[1,1] b = {1.0}, float[1] c = {0.5}> {
          p = Neg(x)
          a = Mul(b, p)
          y = Add(c, a)
        }]],
      rejected = "the summand is not a constant of the same shape" },
    { "a blend", [[
        (float[2,8] x, float[2,8] b) => (float[2,8] y) <float one = {1.0}, float c = {-10000.0}> {
          a = Mul(x, b)
          d = Sub(one, b)
          e = Mul(d, c)
          y = Add(a, e)
        }]],
      rejected = "the factors are not known to be zeros and ones" },
  },
}
