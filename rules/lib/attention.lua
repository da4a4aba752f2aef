--- Fragments of attention: functions from patterns to a pattern.
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

--- Heads of x repeated G -> H by Unsqueeze, Expand, Reshape; or x as it is. x is
--- [B,G,length,width]; the letters say which.
function attention.repeated(op, x, length, width)
  return either(
    function()
      x:shape("B G " .. length .. " " .. width)
      local wide = op.Expand(op.Unsqueeze(x, {2}), any):shape("B G _ " .. length .. " " .. width)
      return op.Reshape{wide, any, attrs = any}:shape("B H " .. length .. " " .. width)
    end,
    x)
end

--- Builds what `repeated` finds: heads of x, [B,G,_,width], each for H / G heads in a row.
function attention.spread(op, x, G, H, width)
  if G == H then return x end
  local wide = op.Expand(op.Unsqueeze(x, {2}), {1, 1, H / G, 1, 1})
  return op.Reshape(wide, {0, H, -1, width})
end

--- The transpose of the last two axes of k: in one step of its own (then heads of k may be repeated), as part of
--- the head split (tagged `split`; k is [B,T,H,D]), or before anything that can
--- be seen (then k is absent and `swapped` is [B,H,D,T]).
function attention.transposed(op, k, split, swapped)
  return either(
    op.Transpose{attention.repeated(op, k, "T", "D"), perm = {0, 1, 3, 2}},
    op.Transpose{k, perm = {0, 2, 3, 1}}:as(split),
    swapped)
end

--- The fused op over heads. q is [B,H,S,D], k [B,G,L,D]; p holds the variables of its inputs and attributes. Without one
--- for the mask there must be none.
function attention.fused(op, p)
  p.q:shape "_ _ S D"
  p.k:shape "_ G L D"
  return op.ruleengine.ScaledDotProductAttention{p.q, p.k, p.v, p.mask and maybe(p.mask), num_heads = p.H, head_dim = p.E,
    scale = p.scale, is_causal = p.causal, softcap = p.softcap, dropout_p = any}
end

--- [B,H,S,width] as [B,S,H*width], and the way back.
function attention.merged(op, x, H, width)
  return op.Reshape(op.Transpose{x, perm = {0, 2, 1, 3}}, {0, 0, H * width})
end

function attention.split(op, x, H, width)
  return op.Transpose{op.Reshape(x, {0, 0, H, width}), perm = {0, 2, 1, 3}}
end

local function positive(size) return type(size) == "number" and size > 0 end

--- Whether the match of `fused` says how many heads there are and how wide, and its inputs have them.
function attention.need_heads(m)
  need(positive(m.H) and positive(m.E), "num_heads and head_dim are not two positive numbers", m.q)
  need(positive(m.G) and m.H % m.G == 0, "the heads are not known", m.k)
  need(positive(m.D), "the size of the heads is not known", m.q)
  local heads, width = m.q:dim(1), m.v:dim(3)
  need(type(heads) ~= "number" or heads == m.H, "num_heads is another number", m.q)
  need(type(width) ~= "number" or width == m.E, "head_dim is another number", m.v)
end

--- softmax of the scores with all that may be done to them: soft cap, bias,
--- masks chosen by Where and masks added, a scale after them; then the guard
--- and the dropout of `probabilities`. p holds the variables.
function attention.softmax(op, scores, p)
  scores = either(op.Mul(op.Tanh(op.Div(scores, p.cap)), p.cap), scores)
  scores = many(function(s) return op.Add(s, p.bias) end, scores)
  scores = either(op.Where(p.keep, scores, p.fill), op.Where(p.hide, p.fill, scores), scores)
  scores = many(function(s) return op.Add(s, p.mask) end, scores)
  scores = attention.scaled(op, scores, p.outer_scale, "outer_divided")
  return attention.probabilities(op, scores, p.ratio, p.training)
end

--- Whether the mask broadcasts to the scores, whose sizes from the last to the
--- first are given, as far as numbers say. Sizes that are only known at run time
--- agree with the scores there, or the sum would not have been computed; the
--- fused op's body computes the same sum.
function attention.need_mask(mask, sizes)
  if not mask then return end
  need(need(mask:rank(), "the rank of the mask is unknown", mask) <= #sizes, "the mask has too many axes", mask)
  for i = 1, mask:rank() do
    local size, want = mask:dim(-i), sizes[i]
    need(type(size) ~= "number" or type(want) ~= "number" or size == 1 or size == want,
      "the mask does not fit the scores", mask)
  end
end

--- The numbers of what `softmax` found, its conditions met: factor (of all scales), outer, softcap, filled, dropped.
--- sizes: those of the scores, from the last to the first.
function attention.numbers(m, sizes)
  local n = { outer = attention.factor(m.outer_scale, m.outer_divided) }
  n.factor = n.outer * attention.factor(m.scale, m.divided)
    * attention.factor(m.q_scale, m.q_divided)
    * attention.factor(m.k_scale, m.k_divided)
  attention.need_float(n.factor, m.q)
  need(n.outer > 0, "the scale after the mask turns its sign", m.outer_scale)
  if m.cap then
    n.softcap = need(m.cap:scalar(), "the soft cap is not a constant", m.cap)
    need(n.softcap > 0, "the soft cap is not positive", m.cap)
    need(n.outer == 1, "a scale after the soft cap", m.outer_scale)
  end
  attention.need_mask(m.keep or m.hide, sizes)
  for _, added in ipairs(m.bias) do attention.need_mask(added, sizes) end
  for _, added in ipairs(m.mask) do attention.need_mask(added, sizes) end
  if m.fill then
    n.filled = need(m.fill:scalar(), "the fill of the mask is not a constant", m.fill)
    need(n.filled * n.outer < -1e37, "the fill of the mask is too small to be a mask", m.fill)
  end
  if m.training then
    need(m.training:scalar() == 0, "dropout may be training", m.training)
  end
  if m.dropout then
    n.dropped = m.ratio and need(m.ratio:scalar(), "the dropout ratio is not a constant", m.ratio) or 0.5
  end
  return n
end

--- All masks that `softmax` found as one; nil when there is none.
function attention.mask(op, m, numbers)
  local mask = attention.sum(op, nil, m.bias)
  if m.fill then
    local keep = m.keep or op.Not(m.hide)
    if numbers.filled == -math.huge and not mask and #m.mask == 0 then
      mask = keep
    else
      mask = op.Where(keep, mask or 0, m.fill)
    end
  end
  mask = attention.sum(op, mask, m.mask)
  if mask and mask.dtype ~= "bool" and numbers.outer ~= 1 then mask = op.Mul(mask, numbers.outer) end
  return mask
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

--- mask and all that is added to it; nil when there is nothing.
function attention.sum(op, mask, terms)
  for _, term in ipairs(terms) do
    mask = mask and op.Add(mask, term) or term
  end
  return mask
end

--- softmax with what exporters put around it: a guard against rows that are
--- masked as a whole, and dropout.
function attention.probabilities(op, scores, ratio, training)
  local p = op.Softmax{scores, axis = -1}
  p = either(op.Where(op.IsNaN(p), 0, p), p)
  return maybe(op.Dropout{p, maybe(ratio), maybe(training)}:as "dropout", p)
end

return attention
