--- Fragments of attention: functions from patterns to a pattern.
local heads = lib "heads"

local attention = {}

--- x c, x / c (tagged `divided`), or x: by a constant of one element.
function attention.scaled(op, x, c, divided)
  local function by_one_number(p)
    return function() c:const(); c:fits "1"; return p end
  end
  return either(by_one_number(op.Mul(x, c)), by_one_number(op.Div(x, c):as(divided)), x)
end

--- The factor that `scaled` applied: c, 1 / c or 1.
function attention.factor(c, divided)
  if not c then return 1 end
  local factor = need(c:scalar(), "the scale is not a constant", c)
  return divided and 1 / need(factor ~= 0 and factor, "the scale divides by zero", c) or factor
end

--- factor, when an attribute, a float, can hold what v's type computes with.
function attention.need_float(factor, v)
  local size = factor < 0 and -factor or factor
  need(size == 0 or (size > 1.2e-38 and size < 3.4e38), "the scale is out of a float's range", v)
  if v.dtype == "double" then
    need((math.frexp(factor) * 2 ^ 24) % 1 == 0, "the scale is not exact as a float", v)
  end
  return factor
end

--- Assumes of halves that products of queries and keys fit into them, where the fused op, which computes in `dtype`, does
--- not go by way of the same products: it scales them before, not after by `factor`.
function attention.need_halves(q, dtype, factor)
  if q.dtype ~= "float16" or dtype == "float16" and factor == 1 then return end
  assume("no product of a query and a key is beyond 65,504", q)
end

local function cast(op, x, dtype)
  return x and x.dtype ~= "bool" and x.dtype ~= dtype and op.Cast{x, to = dtype} or x
end

--- Builds attention of H heads on four axes, with the scales of what was matched and in the type that it computes
--- in; what is there once serves all batches and heads.
function attention.build(op, m, q, k, v, mask, B, H)
  need(H ~= 0 and q:dim(-1) ~= 0, "there are no heads, or nothing in them", q)
  -- A mask that is longer than the scores would make them as long as the values; else the product with these says that
  -- the lengths are one, whatever their names.
  local shown = mask and mask:rank() and mask:rank() > 0 and mask:dim(-1)
  local kept = not mask or shown and (shown == 1 or shown == k:dim(2))
  need(kept or type(k:dim(2)) == type(v:dim(2)), "there are not as many keys as values", v)
  local groups, dtype = k:dim(1) == v:dim(1) and k:dim(1) or H, m.numbers.dtype
  q = heads.widened(op, cast(op, q, dtype), B, H)
  k = heads.widened(op, cast(op, k, dtype), B, groups)
  v = heads.widened(op, cast(op, v, dtype), B, groups)
  local width = v:dim(3)
  if type(width) ~= "number" then width = nil end
  local y = op.ruleengine.ScaledDotProductAttention{q, k, v, cast(op, mask, dtype), num_heads = H,
    head_dim = width, scale = m.numbers.factor, dropout_p = m.numbers.dropped, softcap = m.numbers.softcap}
  return cast(op, y, m.v.dtype)
end

--- The transpose of the last two axes of k: in one step of its own (then heads of k may be repeated), as part of
--- the head split (tagged `split`; k is [B,T,H,D]), or before anything that can
--- be seen (then k is absent and `swapped` is [B,H,D,T]).
function attention.transposed(op, k, split, swapped)
  return either(
    context(op.Transpose{heads.repeated(op, k, "T", "D"), perm = {0, 1, 3, 2}}),
    op.Transpose{k, perm = {0, 2, 3, 1}}:as(split),
    swapped)
end

-- One step of the scores s: times a number, less the largest of each row (which no softmax sees), a mask added or
-- taken away, a choice between them and a number, or a floor.
local function step(op, s)
  local times, mask, fill = any "times", any "mask", any "fill"
  local function by_one_number(p)
    return function() times:fits "1"; return p end
  end
  local largest = op.ReduceMax{s, maybe(any), keepdims = any}
  return either(
    by_one_number(op.Mul(s, times)),
    by_one_number(op.Div(s, times)),
    op.Sub(s, either(largest, op.Unsqueeze(largest, any)):shape "... 1"):as "centred",
    op.Add(s, mask),
    op.Sub(s, mask),
    op.Where(mask, s, fill),
    op.Where(mask, fill, s):as "hiding",
    op.Max(s, fill),
    op.Clip(s, fill, maybe(any "ceiling")))
end

-- What is done to scores before their softmax: a wider type, a soft cap (c tanh(x / c), where 1 / c may be one number
-- with the scale), then steps in any order and number.
local function masked(op, scores)
  local cap = any "cap"
  scores = either(op.Cast{scores, to = any}:as "raised", scores)
  local flat = attention.scaled(op, scores, any "steepness", "flattened")
  scores = either(op.Mul(op.Tanh(op.Div(scores, cap)), cap), op.Mul(op.Tanh(flat):as "tanh", cap), scores)
  return many(function(s) return step(op, s):as "step" end, scores):as "steps"
end

-- softmax with what exporters put around it: a guard against rows that are masked as a whole, zeros where the mask
-- hides, and dropout; it may be taken in a wider type than what is around it.
local function probabilities(op, scores)
  local hidden, shown, fill = any "hidden", any "shown", any "guard_fill"
  local function narrowed(x) return either(op.Cast{x, to = any}:as "narrowed", x) end
  local plain = op.Softmax{either(op.Cast{scores, to = any}:as "widened", scores), axis = -1}
  local y = either(
    narrowed(op.Where(op.IsNaN(plain), 0, plain):as "guarded"),
    op.Where(hidden, 0, op.Softmax{op.Where(hidden, fill, scores), axis = -1}),
    op.Where(shown, op.Softmax{op.Where(shown, scores, fill), axis = -1}, 0),
    narrowed(plain))
  return maybe(op.Dropout{y, maybe(any "ratio"), maybe(any "training")}:as "dropout", y)
end

-- softmax with one more score in each row, a sink, which takes its part of the sum and is left out of the result: a
-- value, or a zero that Pad adds.
local function sunk(op, scores)
  local sink = any "sink"
  scores = either(op.Concat{scores, either(op.Expand(sink, any), sink), axis = -1},
    op.Pad(scores, any "pads", maybe(0)):as "padded")
  local centred = op.Sub(scores, op.ReduceMax{scores, maybe(any), keepdims = any}:shape "... 1")
  local all = probabilities(op, either(centred, scores))
  return op.Slice(all, 0, any "to", any "axes", maybe(1)):as "sunk"
end

--- softmax of the scores with all that may be done to them before and after it; lib "masking" reads what it bound.
function attention.softmax(op, scores) return probabilities(op, masked(op, scores)) end

--- The same, or with a sink.
function attention.softmax_or_sunk(op, scores)
  scores = masked(op, scores)
  return either(sunk(op, scores), probabilities(op, scores))
end

return attention
