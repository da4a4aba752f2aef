--- Fragments of attention: functions from patterns to a pattern.
local heads = lib "heads"

local attention = {}

--- x * c, x / c (tagged `divided`), or x; c is a constant of one element.
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

--- Returns factor. Ends the match if a FLOAT attribute cannot hold it with the
--- precision of v's type.
function attention.need_float(factor, v)
  local size = factor < 0 and -factor or factor
  need(size == 0 or (size > 1.2e-38 and size < 3.4e38), "the scale is out of a float's range", v)
  if v.dtype == "double" then
    need((math.frexp(factor) * 2 ^ 24) % 1 == 0, "the scale is not exact as a float", v)
  end
  return factor
end

--- For float16: assumes that products of queries and keys do not overflow,
--- unless the fused op computes the same products. It computes in `dtype` and
--- scales before the product; the graph multiplies by `factor` after it.
function attention.need_halves(q, dtype, factor)
  if q.dtype ~= "float16" or dtype == "float16" and factor == 1 then return end
  assume("no product of a query and a key is beyond 65,504", q)
end

local function cast(op, x, dtype)
  return x and x.dtype ~= "bool" and x.dtype ~= dtype and op.Cast{x, to = dtype} or x
end

--- Builds attention of H heads on tensors of rank 4, with the scales and in the
--- type of the match. Batch and head axes of size 1 are expanded.
function attention.build(op, m, q, k, v, mask, B, H)
  need(H ~= 0 and q:dim(-1) ~= 0, "the number of heads or their size is 0", q)
  -- If the mask cannot lengthen the scores, their product with v proves that k
  -- and v have the same length, whatever its symbols. A longer mask could
  -- expand scores of length 1 to the length of v.
  local shown = mask and mask:rank() and mask:rank() > 0 and mask:dim(-1)
  local kept = not mask or shown and (shown == 1 or shown == k:dim(2))
  need(kept or type(k:dim(2)) == type(v:dim(2)), "the numbers of keys and values may differ", v)
  local groups, dtype = k:dim(1) == v:dim(1) and k:dim(1) or H, m.numbers.dtype
  -- The pattern may have taken only keys or only values before their heads were repeated.
  local function repeated(x)
    local own = x:dim(1)
    local is_few = type(own) == "number" and type(groups) == "number" and own > 1 and groups % own == 0
    return is_few and heads.spread(op, x, own, groups, x:dim(3)) or x
  end
  q = heads.widened(op, cast(op, q, dtype), B, H)
  k = heads.widened(op, cast(op, repeated(k), dtype), B, groups)
  v = heads.widened(op, cast(op, repeated(v), dtype), B, groups)
  local width = v:dim(3)
  if type(width) ~= "number" then width = nil end
  -- Without a guard in the model, a query that sees no key gives NaN there, and may give anything here.
  local free = mask and not m.guarded and not m.guard_fill
  local y = op.ruleengine.ScaledDotProductAttention{q, k, v, cast(op, mask, dtype), num_heads = H, head_dim = width,
    scale = m.numbers.factor, dropout_p = m.numbers.dropped, softcap = m.numbers.softcap, guarded = free and 0 or nil}
  return cast(op, y, m.v.dtype)
end

--- The transpose of the last two axes of k: in one step of its own (then heads
--- of k may be repeated), as part of the head split (tagged `split`; k is
--- [B,T,H,D]), or before the matched nodes (then k is absent and `swapped` is
--- [B,H,D,T]).
function attention.transposed(op, k, split, swapped)
  return either(
    context(op.Transpose{heads.repeated(op, k, "T", "D"), perm = {0, 1, 3, 2}}),
    op.Transpose{k, perm = {0, 2, 3, 1}}:as(split),
    swapped)
end

-- One step on the scores s: multiply or divide by a number, subtract the
-- maximum of each row (softmax is invariant to that), add or subtract a mask,
-- choose between s and a number, clamp s from below, or state its shape.
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
    op.Clip(s, fill, maybe(any "ceiling")),
    op.Reshape{s, any, allowzero = any}:as "sized")
end

-- Operations on scores before their softmax: a cast to a wider type, a soft cap
-- (c tanh(x / c), where 1 / c and the scale may be one number), then any number
-- of steps in any order.
local function masked(op, scores)
  local cap = any "cap"
  scores = either(op.Cast{scores, to = any}:as "raised", scores)
  local flat = attention.scaled(op, scores, any "steepness", "flattened")
  scores = either(op.Mul(op.Tanh(op.Div(scores, cap)), cap), op.Mul(op.Tanh(flat):as "tanh", cap), scores)
  return many(function(s) return step(op, s):as "step" end, scores):as "steps"
end

-- softmax as exporters write it: with a guard against fully masked rows, zeros
-- where the mask hides, dropout, perhaps in a wider type than the nodes around
-- it.
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

-- softmax with one more score in each row, the sink. It counts in the sum and
-- is dropped from the result. The sink is a value, or a zero that Pad adds.
local function sunk(op, scores)
  local sink = any "sink"
  scores = either(op.Concat{scores, either(op.Expand(sink, any), sink), axis = -1},
    op.Pad(scores, any "pads", maybe(0)):as "padded")
  local centred = op.Sub(scores, op.ReduceMax{scores, maybe(any), keepdims = any}:shape "... 1")
  local all = probabilities(op, either(centred, scores))
  return op.Slice(all, 0, any "to", any "axes", maybe(1)):as "sunk"
end

--- softmax of the scores with all operations before and after it; lib "masking"
--- reads the variables that it binds.
function attention.softmax(op, scores) return probabilities(op, masked(op, scores)) end

--- The same, or with a sink.
function attention.softmax_or_sunk(op, scores)
  scores = masked(op, scores)
  return either(sunk(op, scores), probabilities(op, scores))
end

return attention
