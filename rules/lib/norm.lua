--- Norms over the last axis in all their spellings: functions from patterns to a pattern.
local norm = {}

-- x / root, or x times its inverse.
local function over(op, x, root)
  return either(op.Div(x, root), op.Mul(x, either(op.Div(1, root), op.Reciprocal(root))))
end

-- normalized(x); or the same in float, between casts from and to a smaller
-- type.
local function in_float(op, x, normalized)
  return either(op.Cast{normalized(op.Cast{x, to = any}:as "widened"), to = any}:as "narrowed", normalized(x))
end

local function squared(op, x) return either(op.Pow(x, 2), op.Mul(x, x)) end

--- x / sqrt(mean(x^2) + epsilon) * w. x is [...,D], w [D].
function norm.rms(op, x, w, epsilon)
  x:shape "... D"
  w:shape "D"
  return op.Mul(in_float(op, x, function(v)
    return over(op, v, op.Sqrt(op.Add(op.ReduceMean(squared(op, v), {-1}), epsilon)))
  end), w)
end

--- (x - mean(x)) / sqrt(variance(x) + epsilon) * w + b. x is [...,D], w and b are [D].
function norm.layer(op, x, w, b, epsilon)
  x:shape "... D"
  w:shape "D"
  b:shape "D"
  return op.Add(op.Mul(in_float(op, x, function(v)
    local centred = op.Sub(v, op.ReduceMean(v, {-1}))
    return over(op, centred, op.Sqrt(op.Add(op.ReduceMean(squared(op, centred), {-1}), epsilon)))
  end), w), b)
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
