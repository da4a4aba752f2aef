--- The numbers of the operations between scores and their softmax: scales,
--- masks, fills, sinks.
local attention = lib "attention"
local elements = lib "elements"

local masking = {}

--- Ends the match if numbers show that the mask does not broadcast to the
--- scores; `sizes` are those of the scores, from the last axis to the first.
--- Sizes known only at run time need no check: they must fit there, or the sum
--- in the graph fails, and the body of the fused op computes the same sum.
function masking.need_mask(mask, sizes)
  if not mask then return end
  need(need(mask:rank(), "the rank of the mask is unknown", mask) <= #sizes, "the mask has too many axes", mask)
  for i = 1, mask:rank() do
    local size, want = mask:dim(-i), sizes[i]
    need(type(size) ~= "number" or type(want) ~= "number" or size == 1 or size == want,
      "the mask does not fit the scores", mask)
  end
end

--- For a Reshape of scores, y, after masks: ends the match unless it states the
--- sizes that the scores had before.
function masking.need_kept(y, sizes)
  need(y:rank() == #sizes, "a Reshape changes the scores", y)
  for i, size in ipairs(sizes) do need(y:dim(-i) == size, "a Reshape changes the scores", y) end
  assume("no mask makes the scores larger", y)
end

-- The steps that `softmax` matched, the one nearest to the scores first: for
-- each its op (`op`, `hiding`), mask, fill, factor, and `after`, the product of
-- all later factors. Then the product of all factors.
local function steps_of(m, sizes)
  local steps, masked, centred = {}, false, nil
  for _, found in ipairs(m.steps) do
    local name = found.step.op
    local step = { op = name == "Clip" and "Max" or name, mask = found.mask, fill = found.fill, hiding = found.hiding,
      factor = attention.factor(found.times, name == "Div") }
    if found.sized then
      masking.need_kept(found.sized.outputs[1], sizes)
    elseif found.centred then
      centred = masked and found.centred or centred
    elseif not found.times then
      need(not centred, "the scores are centred between two masks", centred)
      masked = true
    end
    local ceiling = found.ceiling
    need(not ceiling or (ceiling:scalar() or 0) > 3.4e38, "the scores are cut off", ceiling)
    if step.factor ~= 1 or step.mask or step.fill then steps[#steps + 1] = step end
  end
  -- Centring makes a row that the first mask hides completely all zeros. A
  -- second mask changes zeros, but not the huge numbers before centring.
  need(not centred or not m.guard_fill, "the scores are centred between two masks", centred)
  local after = 1
  for i = #steps, 1, -1 do
    steps[i].after = after
    after = after * steps[i].factor
  end
  return steps, after
end

-- HIDING absorbs any score that is added to it, and is far from the lowest
-- number. A number below LOWEST absorbs HIDING itself, in float. float16 has no
-- such numbers: masks and attention are in float.
local HIDING, LOWEST = -1e30, -3e37

-- Assumptions under which adding a mask equals choosing with Where. FINITE: the
-- fill or HIDING absorbs the scores. ABOVE, for a fill no lower than -1e4: keys
-- that are seen weigh e^100 times as much as hidden ones. SEEN, if other masks
-- hide keys that this one shows: as ABOVE, and all masks show some key. (In a
-- row that sees no key, the least hidden keys would have all the weight.)
local FINITE = "scores between -1e13 and 1e13"
local ABOVE = "scores between -9,900 and 1e13"
local SEEN =
  "each query sees a key whose score, masks added, is above -9,900; scores are below 1e13, masks add no more than 50"

masking.FINITE = FINITE

-- Whether all elements of x are whole numbers: cast from a type that is not
-- float, differences of whole numbers, or 0 and 1.
local function is_whole(x)
  local node = elements.origin(x).producer
  if node and node.op == "Cast" then return node.inputs[1]:type("bool", "int32", "int64") end
  if node and node.op == "Sub" then return is_whole(node.inputs[1]) and is_whole(node.inputs[2]) end
  return x:among(0, 1)
end

-- Whether the step adds only 0 or a number that absorbs even HIDING: 0 or
-- -3e38, or a multiple of -3e38.
local function hides_all(step)
  local function hides(x) return (x:scalar() or 0) * step.after < LOWEST end
  if step.fill then return step.op ~= "guard" and hides(step.fill) end
  local node = step.op == "Add" and elements.origin(step.mask).producer
  if not node or (node.op ~= "Mul" and node.op ~= "Where") then return false end
  local a, b = node.inputs[#node.inputs - 1], node.inputs[#node.inputs]
  if hides(b) then a, b = b, a end
  return hides(a) and (node.op == "Mul" and is_whole(b) or node.op == "Where" and b:among(0))
end

-- The number that hides a score by addition, for a `step` whose fill replaces
-- the score; `masks` are all masks of the match. It is far below any score, at
-- this step and after all scales.
local function hiding_number(step, masks, dtype)
  local fill = step.fill
  local number = need(fill:scalar(), "the fill of the mask is not a constant", fill)
  local highest = math.max(number, number * step.after)
  -- The fused op itself supports a single choice of -inf, as a bool mask.
  if number == -math.huge and #masks == 1 then return number end
  if highest < -1e37 then
    assume(FINITE, fill)
    return number
  end
  need(step.mask and highest <= -1e4, "the fill of the mask hides too little", fill)
  -- A score plus HIDING is HIDING: a row in which all keys are hidden gives the
  -- mean of all values that no other mask hides, as in the graph, if the other
  -- masks hide by the same number or by one that absorbs HIDING.
  local alone = true
  for _, other in ipairs(masks) do
    local same = other.fill and other.mask and other.fill:scalar() == number and other.after == step.after
    alone = alone and (same or dtype ~= "double" and hides_all(other))
  end
  assume(alone and ABOVE or SEEN, fill)
  return HIDING / step.after
end

local OF_SCORES = { Add = 2, Div = 1, GatherElements = 1, MatMul = 0 }

-- Whether x is 0 or is computed like scores, from products and their sums, in
-- at most `steps` nodes. Such a value hides nothing.
local function is_scores(x, steps)
  if x:scalar() == 0 then return true end
  local node = elements.origin(x).producer
  local inputs = node and OF_SCORES[node.op]
  if not inputs or steps == 0 then return false end
  for i = 1, inputs do
    if not is_scores(node.inputs[i], steps - 1) then return false end
  end
  return true
end

-- Whether the steps add only such values, as disentangled attention does with
-- its position biases.
local function only_adds_scores(steps)
  for _, step in ipairs(steps) do
    if (step.mask or step.fill) and not (step.op == "Add" and is_scores(step.mask, 6)) then return false end
  end
  return true
end

local HALF = { float16 = true, bfloat16 = true }

-- The type that the fused op computes in, and the type of masks. float16 and
-- bfloat16 are kept if only their softmax is computed in float; if more is, the
-- fused op computes in float.
local function computed_in(m, something_between)
  need(m.q.dtype and m.v.dtype, "the types are unknown", m.q)
  local scores = m.raised and m.raised.outputs[1].dtype or m.q.dtype
  local widest = m.widened and m.widened.outputs[1].dtype or scores
  local only_softmax = m.widened and not m.raised or m.raised and not something_between
  if only_softmax and m.q.dtype == m.v.dtype and HALF[m.q.dtype] and widest == "float" then return m.q.dtype, scores end
  for _, dtype in ipairs{m.q.dtype, scores, m.v.dtype} do
    need(dtype == widest or (HALF[dtype] and widest == "float"), "the types differ", m.v)
  end
  return widest, scores
end

--- The numbers of a match of `softmax`, after its conditions are checked:
--- factor (the product of all scales), steps, softcap, dropped, dtype (the type
--- to compute in), and lifts (whether masks are cast to it). sizes: those of the
--- scores, from the last axis to the first.
function masking.numbers(m, sizes)
  local n, after, masks = {}, 1, {}
  n.steps, after = steps_of(m, sizes)
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
      masking.need_mask(step.mask, sizes)
      need(step.after > 0, "the scale after the mask is not positive", step.mask or step.fill)
    end
  end
  local guard = m.guard_fill and { op = "guard", mask = m.shown or m.hidden, fill = m.guard_fill, after = 1 }
  masks[#masks + 1] = guard
  for _, step in ipairs(masks) do
    if step.fill then step.number = hiding_number(step, masks, n.scores_dtype) end
    n.lifts = n.lifts or n.scores_dtype == "float16" and step.fill and step.number > -math.huge
  end
  if n.lifts then n.dtype = "float" end
  attention.need_halves(m.q, n.dtype, after * attention.factor(m.scale, m.divided))
  if guard then
    masking.need_mask(guard.mask, sizes)
    -- Keys that a finite guard hides have some weight in rows where the other
    -- masks hide all keys that it shows.
    local alone = #masks == 1 or guard.number == -math.huge or guard.number < -1e37 and only_adds_scores(n.steps)
    if not alone then assume(SEEN, m.guard_fill) end
  end
  if m.training then
    need(m.training:scalar() == 0, "dropout may be training", m.training)
  end
  if m.dropout then
    n.dropped = m.ratio and need(m.ratio:scalar(), "the dropout ratio is not a constant", m.ratio) or 0.5
  end
  return n
end

local function lifted(op, numbers, x)
  return numbers.lifts and op.Cast{x, to = numbers.dtype} or x
end

--- All masks of a match of `softmax` as one mask; nil when there is none. The
--- fused op guards only against rows that a mask hides. With a guard, scores
--- themselves may be infinite, so without a mask the mask is 0.
function masking.mask(op, m, numbers)
  local mask
  for _, step in ipairs(numbers.steps) do
    if step.factor ~= 1 then
      mask = mask and op.Mul(mask, step.factor)
    elseif step.op == "Add" then
      local added = lifted(op, numbers, step.mask)
      mask = mask and op.Add(mask, added) or added
    elseif step.op == "Sub" then
      local taken = lifted(op, numbers, step.mask)
      mask = mask and op.Sub(mask, taken) or op.Neg(taken)
    elseif step.op == "Max" then
      mask = mask and op.Max(mask, lifted(op, numbers, step.fill))
    elseif step.number == -math.huge and not mask and step == numbers.last and not m.guard_fill then
      return step.hiding and op.Not(step.mask) or step.mask
    else
      local fill = op.Min(lifted(op, numbers, step.fill), step.number)
      mask = step.hiding and op.Where(step.mask, fill, mask or 0) or op.Where(step.mask, mask or 0, fill)
    end
  end
  if m.guarded then mask = mask or op.Cast{op.Constant{value_floats = {0}}, to = numbers.dtype} end
  if not m.guard_fill then return mask end
  local shown = m.shown or op.Not(m.hidden)
  return mask and op.Where(shown, mask, -math.huge) or shown
end

--- For a match with a sink: ends the match unless exactly one column is added
--- and exactly that column is dropped. Scores must not be centred before, since
--- the sink would not be shifted with them.
function masking.need_sink(m, sizes)
  if not m.sunk then return end
  need(#m.centred == 0, "the scores are centred before the sink", m.q)
  local left, axes, to = m.sunk.outputs[1], m.axes:constant(), m.to:constant()
  need(axes and (axes[1] == -1 or axes[1] == #sizes - 1), "the slice is not along the last axis", m.axes)
  need(to and (to[1] == -1 or to[1] == sizes[1]), "the sink is not the last column", m.to)
  need(left:dim(-1) == sizes[1], "more than the sink is dropped", left)
  if m.pads then
    local pads = need(m.pads:constant(), "the pads are not constant", m.pads)
    for i, pad in ipairs(pads) do
      need(pad == (i == #pads and 1 or 0), "Pad does not add exactly one column", m.pads)
    end
  else
    need(m.sink:rank() == #sizes and m.sink:dim(-1) == 1, "the sink is not one column", m.sink)
  end
end

--- The mask with one more column, for one more key that is all zeros: its entry
--- in the mask is the sink. sizes as in `numbers`.
function masking.sink_mask(op, m, mask, sizes)
  if mask and mask.dtype == "bool" then
    assume(FINITE, mask)
    mask = op.Log(op.Cast{mask, to = m.numbers.scores_dtype})
  end
  local pads, rank = {}, #sizes
  for i = 1, 2 * rank do pads[i] = i == 2 * rank and 1 or 0 end
  local function along(x, i) return x and i > rank - x:rank() and (x:dim(i - 1 - rank) or sizes[rank + 1 - i]) or 1 end
  local wide, column = {}, {}
  for i = 1, rank do
    local own, others, size = along(mask, i), along(m.sink, i), sizes[rank + 1 - i]
    -- If two sizes are not known to be equal, either may be 1: the size of the
    -- scores is used.
    if own == others or others == 1 then size = own elseif own == 1 then size = others end
    wide[i], column[i] = size, size
  end
  wide[rank], column[rank] = sizes[1], 1
  if m.padded then return mask and op.Pad(op.Expand(mask, wide), pads) end
  if mask then return op.Concat{op.Expand(mask, wide), lifted(op, m.numbers, op.Expand(m.sink, column)), axis = -1} end
  pads[rank], pads[2 * rank] = sizes[1], 0
  return op.Pad(m.sink, pads)
end

return masking
