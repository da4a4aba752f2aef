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

--- The transpose of the last two axes of k: in one step of its own (then heads of k may be repeated), as part of
--- the head split (tagged `split`; k is [B,T,H,D]), or before anything that can
--- be seen (then k is absent and `swapped` is [B,H,D,T]).
function attention.transposed(op, k, split, swapped)
  return either(
    op.Transpose{attention.repeated(op, k, "T", "D"), perm = {0, 1, 3, 2}},
    op.Transpose{k, perm = {0, 2, 3, 1}}:as(split),
    swapped)
end

--- Whether the mask broadcasts to [B,H,S,T], as far as numbers say. Sizes that
--- are only known at run time agree with the scores there, or the sum would not
--- have been computed; the fused op's body computes the same sum.
function attention.need_mask(mask, m)
  if not mask then return end
  local to = {m.T, m.S, m.H, m.B}
  need(need(mask:rank(), "the rank of the mask is unknown", mask) <= 4, "the mask has more than four axes", mask)
  for i = 1, mask:rank() do
    local size, want = mask:dim(-i), to[i]
    need(type(size) ~= "number" or type(want) ~= "number" or size == 1 or size == want,
      "the mask does not fit the scores", mask)
  end
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
