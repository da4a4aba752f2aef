--- Norms over the last axis in all their spellings: functions from patterns to a pattern.
local norm = {}

local function root(op, v) return either(op.Sqrt(v), op.Pow(v, 0.5)) end

-- 1 / sqrt(v).
local function inverse_root(op, v)
  return either(op.Div(1, root(op, v)), op.Reciprocal(root(op, v)), op.Pow(v, -0.5))
end

-- x / sqrt(v).
local function over(op, x, v) return either(op.Div(x, root(op, v)), op.Mul(x, inverse_root(op, v))) end

-- w x / sqrt(v), where w is not the last factor.
local function weighted_over(op, x, v, w)
  return either(over(op, op.Mul(x, w), v), op.Mul(x, op.Mul(inverse_root(op, v), w)))
end

-- normalized(x); or the same in float, between casts from and to a smaller
-- type.
local function in_float(op, x, normalized)
  return either(op.Cast{normalized(op.Cast{x, to = any}:as "widened"), to = any}:as "narrowed", normalized(x))
end

-- mean(x^2) + epsilon.
local function mean_square(op, x, epsilon)
  return op.Add(op.ReduceMean(either(op.Pow(x, 2), op.Mul(x, x)), {-1}), epsilon)
end

--- x / sqrt(mean(x^2) + epsilon) * w, over the last axis.
function norm.rms(op, x, w, epsilon)
  local function normalized(v) return over(op, v, mean_square(op, v, epsilon)) end
  return either(op.Mul(in_float(op, x, normalized), w), weighted_over(op, x, mean_square(op, x, epsilon), w))
end

--- (x - mean(x)) / sqrt(variance(x) + epsilon) * w + b, perhaps without w or b.
function norm.layer(op, x, w, b, epsilon)
  local function centred(v) return op.Sub(v, op.ReduceMean(v, {-1})) end
  local function variance(v) return mean_square(op, centred(v), epsilon) end
  local plain = in_float(op, x, function(v) return over(op, centred(v), variance(v)) end)
  local weighted = either(op.Mul(plain, w), weighted_over(op, centred(x), variance(x), w)):as "weighted"
  local unbiased = either(weighted, plain:as "plain")
  local factor = op.Mul(inverse_root(op, variance(x)), w)
  return either(
    op.Add(unbiased, b),
    op.Add(op.Mul(x, factor), op.Sub(b, op.Mul(op.ReduceMean(x, {-1}), factor))),
    unbiased)
end

-- Whether v is [D] where x is [...,D], or a constant that broadcasts to that.
local function is_vector(v, x)
  if v:shape "D" then return v:dim(0) == x:dim(-1) end
  if not v:const() or v:rank() > x:rank() then return false end
  for axis = 0, v:rank() - 2 do
    if v:dim(axis) ~= 1 then return false end
  end
  return v:rank() == 0 or v:dim(-1) == 1 or v:dim(-1) == x:dim(-1)
end

--- Ends the match of `rms` or `layer` unless v, if any, is a weight or bias of the last axis.
function norm.need_vector(v, x)
  need(not v or is_vector(v, x), "it is not a weight or bias of the last axis", v)
end

--- A weight or bias as [D].
function norm.vector(op, v, x)
  if v:shape "D" and v:dim(0) == x:dim(-1) then return v end
  return op.Expand(op.Reshape(v, {-1}), {x:dim(-1)})
end

-- Whether the node gives the quotient y of `layer` another step: a weight, a bias, or
-- the cast back to the smaller type that m.x was cast from.
local function continues(m, node, y)
  if node.domain ~= "" then return false end
  local is_cast = not m.w and not m.widened and m.x.producer and m.x.producer.op == "Cast"
  if node.op == "Cast" then return is_cast and m.x.producer.inputs[1].dtype == node.outputs[1].dtype end
  local is_step = node.op == "Add" or node.op == "Mul" and not m.w
  return is_step and is_vector(node.inputs[node.inputs[1] == y and 2 or 1], m.x)
end

--- Ends the match of `layer` if it is a part of a larger one.
function norm.need_whole(m)
  local y = not m.b and (m.weighted or m.plain).outputs[1]
  local is_part = y and #y.users == 1 and not y.is_output and continues(m, y.users[1], y)
  need(not is_part, "it is a part of a larger norm", y)
end

--- The number of the epsilon of a match.
function norm.epsilon(epsilon)
  local number = need(epsilon:scalar(), "epsilon is not a constant", epsilon)
  return need(number >= 0 and number, "epsilon is negative", epsilon)
end

--- Ends the match of `rms` or `layer` if runtimes compute the op differently
--- from the matched nodes: not in float, or not at all.
function norm.need_runtimes(m, x)
  local width = x:dim(-1)
  need(type(width) == "number" and width > 1, "runtimes want numbers to normalize, older ones more than one", x)
  if not m.widened then
    need(x.dtype == "float", "runtimes differ in the precision of other types", x)
    return
  end
  local wide, back = m.widened.outputs[1], m.narrowed.outputs[1]
  need(x.dtype == "float16" or x.dtype == "bfloat16", "runtimes differ in the precision of other types", x)
  need(wide.dtype == "float" and back.dtype == x.dtype, "it is not computed in float", wide)
end

--- Ends the match where m.x and m.skip are not [B,S,D] both.
function norm.need_skip(m)
  need(m.x:rank() == 3, "it is not a sum of [batch, length, width]", m.x)
  for axis = 0, 2 do need(m.x:dim(axis) == m.skip:dim(axis), "the summands have different shapes", m.skip) end
end

return norm
