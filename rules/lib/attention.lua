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

--- Builds x, [B or 1, heads or 1, _, _], as [batch, heads, _, _].
function attention.widened(op, x, batch, heads)
  for axis, size in ipairs{batch, heads} do
    need(x:dim(axis - 1) == size or x:dim(axis - 1) == 1, "it does not fit the scores", x)
  end
  if x:dim(0) == batch and x:dim(1) == heads then return x end
  return op.Expand(x, {batch, heads, 1, 1})
end

local function cast(op, x, dtype)
  return x and x.dtype ~= "bool" and x.dtype ~= dtype and op.Cast{x, to = dtype} or x
end

--- Builds attention of `heads` heads on four axes, with the scales of what was matched and in the type that it computes
--- in; what is there once serves all batches and heads.
function attention.build(op, m, q, k, v, mask, batch, heads)
  need(heads ~= 0, "there are no heads", q)
  -- A mask that is longer than the scores would make them as long as the values.
  need(type(k:dim(2)) == type(v:dim(2)), "there are not as many keys as values", v)
  local groups, dtype = k:dim(1) == v:dim(1) and k:dim(1) or heads, m.numbers.dtype
  q = attention.widened(op, cast(op, q, dtype), batch, heads)
  k = attention.widened(op, cast(op, k, dtype), batch, groups)
  v = attention.widened(op, cast(op, v, dtype), batch, groups)
  local width = v:dim(3)
  if type(width) ~= "number" then width = nil end
  local y = op.ruleengine.ScaledDotProductAttention{q, k, v, cast(op, mask, dtype), num_heads = heads,
    head_dim = width, scale = m.numbers.factor, dropout_p = m.numbers.dropped, softcap = m.numbers.softcap}
  return cast(op, y, m.v.dtype)
end

--- Whether the mask of the match of `fused` leaves the scores as large as they are, for ops that refuse another: where
--- they have one batch or query and the mask more, a sum is larger. Not so for keys, as there are as many values, nor
--- for queries by a computed number: exporters cut the rows that they need from a causal mask.
function attention.need_narrow(m)
  if not m.mask then return end
  local rank, sizes = need(m.mask:rank(), "the rank of the mask is unknown", m.mask), {m.L, m.S, m.H, m.q:dim(0)}
  for i = 2, rank do
    local size, want = m.mask:dim(-i), sizes[i]
    local several = type(want) == "number" and want ~= 1
    need(several or size == 1 or size == want or (i == 2 and tostring(size):find "[^%w_]"),
      "the mask may be larger than the scores", m.mask)
  end
end

--- Builds what `repeated` finds: heads of x, [B,G,_,width], each for H / G heads in a row.
function attention.spread(op, x, G, H, width)
  if G == H then return x end
  need(width ~= 0, "there are no columns", x)
  local wide = op.Expand(op.Unsqueeze(x, {2}), {1, 1, H / G, 1, 1})
  return op.Reshape(wide, {0, H, -1, width})
end

--- The transpose of the last two axes of k: in one step of its own (then heads of k may be repeated), as part of
--- the head split (tagged `split`; k is [B,T,H,D]), or before anything that can
--- be seen (then k is absent and `swapped` is [B,H,D,T]).
function attention.transposed(op, k, split, swapped)
  return either(
    context(op.Transpose{attention.repeated(op, k, "T", "D"), perm = {0, 1, 3, 2}}),
    op.Transpose{k, perm = {0, 2, 3, 1}}:as(split),
    swapped)
end

--- The fused op over heads. q is [B,H,S,D], k [B,G,L,D], v [B,_,L,E]; p holds the variables of its inputs and
--- attributes. Without one for the mask there must be none.
function attention.fused(op, p)
  p.q:shape "_ _ S D"
  p.k:shape "_ G L D"
  p.v:shape "_ _ _ E"
  return op.ruleengine.ScaledDotProductAttention{p.q, p.k, p.v, p.mask and maybe(p.mask), num_heads = p.H, head_dim = any,
    scale = p.scale, is_causal = p.causal, softcap = p.softcap, dropout_p = any}
end

--- [B,H,S,width] as [B,S,H*width], and the way back; from fewer heads, each is there for several in a row.
function attention.merged(op, x, H, width, fewer)
  x = op.Transpose{x, perm = {0, 2, 1, 3}}
  if fewer and fewer < H then
    local serves = {}
    for i = 1, H do serves[i] = math.floor((i - 1) * fewer / H) end
    x = op.Gather{x, serves, axis = 2}
  end
  return op.Reshape(x, {0, 0, H * width})
end

function attention.split(op, x, H, width)
  return op.Transpose{op.Reshape(x, {0, 0, H, width}), perm = {0, 2, 1, 3}}
end

--- The mask as what is added to the scores, with the lengths of queries and keys, as ONNX Runtime's own ops want it.
function attention.bias(op, m)
  local bias = m.mask
  if not bias then return nil end
  local rank = bias:rank()
  -- 0 where the mask keeps, -inf where it hides.
  if bias.dtype == "bool" then bias = op.Log(op.Cast{bias, to = m.q.dtype}) end
  if rank > 1 and bias:dim(-2) == m.S and bias:dim(-1) == m.L then
    return rank == 4 and bias or op.Unsqueeze(bias, rank == 3 and {0} or {0, 1})
  end
  local lengths = { op.Shape{m.q, start = 2, ["end"] = 3}, op.Shape{m.k, start = 2, ["end"] = 3} }
  return op.Expand(bias, op.Concat{{1, 1}, lengths, axis = 0})
end

local MOVES = { Expand = true, Reshape = true, Slice = true, Squeeze = true, Transpose = true, Unsqueeze = true }

-- Whether the mask is a choice between two finite numbers: whatever it hides weighs something where it hides all.
local function is_finite(mask)
  local made = mask.producer
  while made and MOVES[made.op] do made = made.inputs[1].producer end
  if not made or made.op ~= "Where" then return false end
  for i = 2, 3 do
    local number = made.inputs[i]:scalar()
    if not (number and number > -math.huge and number < math.huge) then return false end
  end
  return true
end

--- y, of ONNX Runtime's own ops, where a query that sees no key for the mask gives zeros.
function attention.seen(op, y, mask)
  return mask and not is_finite(mask) and op.Where(op.IsNaN(y), 0, y) or y
end

function attention.positive(size) return type(size) == "number" and size > 0 end

--- Whether the match of `fused` says how many heads there are, and its inputs have them.
function attention.need_heads(m)
  need(attention.positive(m.H), "num_heads is no positive number", m.q)
  need(attention.positive(m.G) and m.H % m.G == 0, "the heads are not known", m.k)
  local heads, values = m.q:dim(1), m.v:dim(1)
  need(type(heads) ~= "number" or heads == m.H, "num_heads is another number", m.q)
  need(type(values) ~= "number" or values == m.G, "keys and values have different numbers of heads", m.v)
end

--- And how wide they are.
function attention.need_widths(m)
  attention.need_heads(m)
  need(attention.positive(m.D) and attention.positive(m.E), "the size of the heads is not known", m.q)
end

--- softmax of the scores with all that may be done to them: a wider type, a soft cap (c tanh(x / c), where 1 / c may
--- be one number with the scale), then steps in any order and number; with the guards and the dropout of `probabilities`. p holds the variables.
function attention.softmax(op, scores, p)
  scores = either(op.Cast{scores, attrs = any}:as "raised", scores)
  local flat = attention.scaled(op, scores, any "steepness", "flattened")
  scores = either(op.Mul(op.Tanh(op.Div(scores, p.cap)), p.cap), op.Mul(op.Tanh(flat):as "tanh", p.cap), scores)
  scores = many(function(s) return attention.step(op, s, p):as "step" end, scores)
  local plain = attention.probabilities(op, scores, p)
  return p.sink and either(attention.sunk(op, scores, p), plain) or plain
end

--- softmax with one more score in each row, a sink, which takes its part of the sum and is left out of the result: a
--- value, or a zero that Pad adds.
function attention.sunk(op, scores, p)
  local sink = either(op.Expand(p.sink, any), p.sink)
  scores = either(op.Concat{scores, sink, axis = -1}, op.Pad(scores, p.pads, maybe(0)):as "padded")
  local centred = op.Sub(scores, op.ReduceMax{scores, maybe(any), attrs = any}:shape "... 1")
  local all = attention.probabilities(op, either(centred, scores), p)
  return op.Slice(all, 0, p.to, p.axes, maybe(1)):as "sunk"
end

--- Whether all but the last column is kept of what `sunk` found, and one was added. What a row is less by before that
--- is not what its sink is less by.
function attention.need_sink(m, sizes)
  if not m.sunk then return end
  need(#m.centred == 0, "the scores are centred before the sink", m.q)
  local left, axes, to = m.sunk.outputs[1], m.axes:constant(), m.to:constant()
  need(axes and (axes[1] == -1 or axes[1] == #sizes - 1), "it is not the last axis", m.axes)
  need(to and (to[1] == -1 or to[1] == sizes[1]), "the sink is not the last column", m.to)
  need(left:dim(-1) == sizes[1], "more than the sink is left out", left)
  if m.pads then
    local pads = need(m.pads:constant(), "the pads are not constant", m.pads)
    for i, pad in ipairs(pads) do need(pad == (i == #pads and 1 or 0), "it is not one more column", m.pads) end
  else
    need(m.sink:rank() == #sizes and m.sink:dim(-1) == 1, "the sink is not one column", m.sink)
  end
end

--- The mask for one more key, a zero, whose score is the sink. sizes as in `numbers`.
function attention.sink_mask(op, m, mask, sizes)
  if mask and mask.dtype == "bool" then mask = op.Log(op.Cast{mask, to = m.numbers.scores_dtype}) end
  local pads, rank = {}, #sizes
  for i = 1, 2 * rank do pads[i] = i == 2 * rank and 1 or 0 end
  local function along(x, i) return x and i > rank - x:rank() and (x:dim(i - 1 - rank) or sizes[rank + 1 - i]) or 1 end
  local wide, column = {}, {}
  for i = 1, rank do
    local own, others, size = along(mask, i), along(m.sink, i), sizes[rank + 1 - i]
    -- Of two sizes that are not known to be one, any may be 1.
    if own == others or others == 1 then size = own elseif own == 1 then size = others end
    wide[i], column[i] = size, size
  end
  wide[rank], column[rank] = sizes[1], 1
  if m.padded then return mask and op.Pad(op.Expand(mask, wide), pads) end
  if mask then return op.Concat{op.Expand(mask, wide), op.Expand(m.sink, column), axis = -1} end
  pads[rank], pads[2 * rank] = sizes[1], 0
  return op.Pad(m.sink, pads)
end

--- One step of the scores s: times a number, less the largest of each row (which no softmax sees), a mask added or
--- taken away, a choice between them and a number, or a floor.
function attention.step(op, s, p)
  local function by_one_number(step)
    return function() p.times:fits "1"; return step end
  end
  local largest = op.ReduceMax{s, maybe(any), attrs = any}
  return either(
    by_one_number(op.Mul(s, p.times)),
    by_one_number(op.Div(s, p.times)),
    op.Sub(s, either(largest, op.Unsqueeze(largest, any)):shape "... 1"):as "centred",
    op.Add(s, p.mask),
    op.Sub(s, p.mask),
    op.Where(p.mask, s, p.fill),
    op.Where(p.mask, p.fill, s):as "hiding",
    op.Max(s, p.fill),
    op.Clip(s, p.fill, maybe(any "ceiling")))
end

--- softmax with what exporters put around it: a guard against rows that are masked as a whole, zeros where the mask
--- hides, and dropout; it may be taken in a wider type than what is around it.
function attention.probabilities(op, scores, p)
  local function narrowed(x) return either(op.Cast{x, attrs = any}:as "narrowed", x) end
  local plain = op.Softmax{either(op.Cast{scores, attrs = any}:as "widened", scores), axis = -1}
  local y = either(
    narrowed(op.Where(op.IsNaN(plain), 0, plain):as "guarded"),
    op.Where(p.hidden, 0, op.Softmax{op.Where(p.hidden, p.guard_fill, scores), axis = -1}),
    op.Where(p.shown, op.Softmax{op.Where(p.shown, scores, p.guard_fill), axis = -1}, 0),
    narrowed(plain))
  return maybe(op.Dropout{y, maybe(p.ratio), maybe(p.training)}:as "dropout", y)
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

--- factor, when an attribute, a float, can hold what v's type computes with.
function attention.need_float(factor, v)
  local size = factor < 0 and -factor or factor
  need(size == 0 or (size > 1.2e-38 and size < 3.4e38), "the scale is out of a float's range", v)
  if v.dtype == "double" then
    need((math.frexp(factor) * 2 ^ 24) % 1 == 0, "the scale is not exact as a float", v)
  end
  return factor
end

local function contains(nodes, node)
  for _, other in ipairs(nodes) do
    if other == node then return true end
  end
end

--- The steps that `softmax` found, the nearest to the scores first: what each is (`op`, `hiding`), its mask, its fill,
--- its factor, and `after`, the product of all factors that come after it. Then the product of all factors.
function attention.steps(m)
  local steps, masks, fills, numbers = {}, 0, 0, 0
  for _, node in ipairs(m.step) do
    local step = { op = node.op, factor = 1 }
    if node.op == "Mul" or node.op == "Div" then
      numbers = numbers + 1
      step.factor = attention.factor(m.times[numbers], node.op == "Div")
    elseif not contains(m.centred, node) then
      step.hiding = contains(m.hiding, node)
      if node.op == "Clip" then step.op = "Max" end
      if step.op ~= "Max" then
        masks = masks + 1
        step.mask = m.mask[masks]
      end
      if step.op == "Where" or step.op == "Max" then
        fills = fills + 1
        step.fill = m.fill[fills]
      end
    end
    if step.factor ~= 1 or step.mask or step.fill then steps[#steps + 1] = step end
  end
  for _, ceiling in ipairs(m.ceiling) do
    need((ceiling:scalar() or 0) > 3.4e38, "the scores are cut off", ceiling)
  end
  local after = 1
  for i = #steps, 1, -1 do
    steps[i].after = after
    after = after * steps[i].factor
  end
  return steps, after
end

-- What any score is lost in when it is added, though it is far from the lowest number; and what HIDING is lost in, in
-- float.
local HIDING, LOWEST = -1e30, -3e37

-- What a value was before it was only moved or repeated.
local MOVES = { Expand = true, Gather = true, Reshape = true, Slice = true, Squeeze = true, Unsqueeze = true }
local function origin(x)
  while x.producer and MOVES[x.producer.op] do x = x.producer.inputs[1] end
  return x
end

-- Whether all numbers of x are whole: they were no floats, or are what is left of 1.
local function is_whole(x)
  local node = origin(x).producer
  if node and node.op == "Cast" then return node.inputs[1]:type("bool", "int32", "int64") end
  if node and node.op == "Sub" then return is_whole(node.inputs[1]) and is_whole(node.inputs[2]) end
  return x:among(0, 1)
end

-- Whether the step adds nothing, or what hides a score even beside HIDING: 0 or -3e38, or -3e38 some times.
local function hides_all(step)
  local function hides(x) return (x:scalar() or 0) * step.after < LOWEST end
  if step.fill then return step.op ~= "guard" and hides(step.fill) end
  local node = step.op == "Add" and origin(step.mask).producer
  if not node or (node.op ~= "Mul" and node.op ~= "Where") then return false end
  local a, b = node.inputs[#node.inputs - 1], node.inputs[#node.inputs]
  if hides(b) then a, b = b, a end
  return hides(a) and (node.op == "Mul" and is_whole(b) or node.op == "Where" and b:among(0))
end

-- The number that hides a score when it is added, for the fill of `step` that hides it by taking its place; `masks` are
-- all that there are. It is far below any score where it stands, and after all scales.
local function hiding_number(step, masks, dtype)
  local fill = step.fill
  local number = need(fill:scalar(), "the fill of the mask is not a constant", fill)
  local highest = math.max(number, number * step.after)
  if highest < -1e37 then return number end
  -- No score of a row that sees a key is near the fill, and a score and HIDING make HIDING: a row that hides every key
  -- gives the mean of all values that no other mask takes away, as it did.
  need(step.mask and highest <= -1e4 and dtype ~= "float16", "the fill of the mask is too small to be a mask", fill)
  for _, other in ipairs(masks) do
    local same = other.fill and other.mask and other.fill:scalar() == number and other.after == step.after
    need(same or dtype ~= "double" and hides_all(other), "the fill of the mask is too small beside another mask", fill)
  end
  return HIDING / step.after
end

local HALF = { float16 = true, bfloat16 = true }

-- The type that the fused op computes in, and the one of masks. Halves stay halves where nothing but their softmax is
-- taken in float; where more is, all of it is.
local function computed_in(m, something_between)
  need(m.q.dtype and m.v.dtype, "the types are unknown", m.q)
  local scores = m.raised and m.raised.outputs[1].dtype or m.q.dtype
  local widest = m.widened and m.widened.outputs[1].dtype or scores
  local only_softmax = m.widened and not m.raised or m.raised and not something_between
  if only_softmax and m.q.dtype == m.v.dtype and HALF[m.q.dtype] and widest == "float" then return m.q.dtype, scores end
  for _, dtype in ipairs{m.q.dtype, scores, m.v.dtype} do
    need(dtype == widest or (HALF[dtype] and widest == "float"), "the types are others", m.v)
  end
  return widest, scores
end

--- The numbers of what `softmax` found, its conditions met: factor (of all scales), steps, softcap, dropped, and dtype,
--- which it computes in. sizes: those of the scores, from the last to the first.
function attention.numbers(m, sizes)
  local n, after, masks = {}, 1, {}
  n.steps, after = attention.steps(m)
  n.dtype, n.scores_dtype = computed_in(m, #n.steps > 0 or m.cap)
  n.factor = after * attention.factor(m.scale, m.divided)
    * attention.factor(m.q_scale, m.q_divided)
    * attention.factor(m.k_scale, m.k_divided)
  if m.cap then
    local cap = need(m.cap:scalar(), "the soft cap is not a constant", m.cap)
    n.softcap = after * cap
    need(n.softcap > 0, "the soft cap is not positive", m.cap)
    attention.need_float(n.softcap, m.cap)
    if m.tanh then n.factor = n.factor * cap * attention.factor(m.steepness, m.flattened) end
  end
  attention.need_float(n.factor, m.q)
  for _, step in ipairs(n.steps) do
    if step.mask or step.fill then
      masks[#masks + 1], n.last = step, step
      attention.need_mask(step.mask, sizes)
      need(step.after > 0, "the scale after the mask turns its sign", step.mask or step.fill)
    end
  end
  local guard = m.guard_fill and { op = "guard", mask = m.shown or m.hidden, fill = m.guard_fill, after = 1 }
  masks[#masks + 1] = guard
  for _, step in ipairs(masks) do
    if step.fill then step.number = hiding_number(step, masks, n.scores_dtype) end
  end
  if guard then
    attention.need_mask(guard.mask, sizes)
    need(#masks == 1 or guard.number < -1e37, "the fill of the mask is too small beside another mask", m.guard_fill)
  end
  if m.training then
    need(m.training:scalar() == 0, "dropout may be training", m.training)
  end
  if m.dropout then
    n.dropped = m.ratio and need(m.ratio:scalar(), "the dropout ratio is not a constant", m.ratio) or 0.5
  end
  return n
end

--- All masks that `softmax` found as one; nil when there is none. The fused op guards only against what a mask hides: where
--- scores themselves may be infinite behind a guard, zero is the mask.
function attention.mask(op, m, numbers)
  local mask
  for _, step in ipairs(numbers.steps) do
    if step.factor ~= 1 then
      mask = mask and op.Mul(mask, step.factor)
    elseif step.op == "Add" then
      mask = mask and op.Add(mask, step.mask) or step.mask
    elseif step.op == "Sub" then
      mask = mask and op.Sub(mask, step.mask) or op.Neg(step.mask)
    elseif step.op == "Max" then
      mask = mask and op.Max(mask, step.fill)
    elseif step.number == -math.huge and not mask and step == numbers.last and not m.guard_fill then
      return step.hiding and op.Not(step.mask) or step.mask
    else
      local fill = op.Min(step.fill, step.number)
      mask = step.hiding and op.Where(step.mask, fill, mask or 0) or op.Where(step.mask, mask or 0, fill)
    end
  end
  if m.guarded then mask = mask or op.Cast{op.Constant{value_floats = {0}}, to = numbers.dtype} end
  if not m.guard_fill then return mask end
  local shown = m.shown or op.Not(m.hidden)
  return mask and op.Where(shown, mask, -math.huge) or shown
end

return attention
