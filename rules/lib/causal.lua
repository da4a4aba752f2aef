--- Masks that hide from each query the keys behind it.
local axes, masking = lib "axes", lib "masking"

local causal = {}

-- A mask that hides exactly the keys j > i from query i.
local EXACT = 2
-- A mask that hides these keys and perhaps others.
local MORE = 1
-- The most nodes between a mask and its positions: more than any exporter writes.
local MOST_STEPS = 20
-- The highest number that hides a key.
local HIGHEST = -1e4
-- The highest number that hides a key whatever scores masking.FINITE permits.
local LOW = -1e30
-- What is assumed of the scores if the number is higher than LOW.
local SMALL = "scores between -4,900 and 4,900"

-- What both masks hide together; nil if one of them is not known.
local function weaker(a, b) return a and b and math.min(a, b) end

-- Whether x and y have the same size on an axis, which is counted from the back.
local function is_same(x, y, axis)
  local size = x:rank() and x:rank() >= -axis and x:dim(axis)
  return size and y:rank() and y:rank() >= -axis and y:dim(axis) == size or false
end

-- Whether x and y have the same last two axes. A view or an Expand whose input and result do only adds axes before.
local function is_aligned(x, y) return is_same(x, y, -1) and is_same(x, y, -2) end

-- Whether the Slice takes the first rows and columns. Notes sizes that it cuts to computed ends.
local function is_from_start(node, cuts)
  local whole, part, stops = node.inputs[1], node.outputs[1], node.inputs[3]:dims()
  local starts, along, steps = axes.starts(node, whole:rank())
  for i, start in ipairs(starts or {}) do
    if steps[i] ~= 1 then return false end
    if along[i] >= whole:rank() - 2 then
      if start ~= 0 then return false end
      cuts[#cuts + 1] = {from = whole:dim(along[i]), to = stops and stops[i], size = part:dim(along[i])}
    end
  end
  return starts ~= nil
end

-- The mask that x repeats, moves or cuts without moving its first row and column; or nil.
local function source(x, cuts)
  local node = x.producer
  if not node or #node.inputs == 0 then return nil end
  local y = node.inputs[1]
  if node.op == "Identity" then return y end
  if node.op == "Slice" then return y:rank() and is_from_start(node, cuts) and y or nil end
  local is_view = node.op == "Expand" or node.op == "Reshape" or node.op == "Unsqueeze"
  return is_view and is_aligned(x, y) and y or nil
end

local REPEATS = { Expand = true, Flatten = true, Gather = true, Identity = true, Reshape = true, Slice = true,
  Squeeze = true, Transpose = true, Unsqueeze = true }

-- The number that all elements of x are, or nil.
local function number(op, x, steps)
  local node = x.producer
  if x:scalar() or not node or steps == 0 then return x:scalar() end
  if node.op == "ConstantOfShape" then return op.ConstantOfShape{{1}, value = node.attrs.value}:scalar() end
  if not REPEATS[node.op] and node.op ~= "Cast" then return nil end
  local of = number(op, node.inputs[1], (steps or MOST_STEPS) - 1)
  return (node.op ~= "Cast" or of == 0 or of == 1) and of or nil
end

-- Along which axis, -1 or -2, x counts 0, 1, 2, ..., and what is added to that; or nil.
local function positions(x, steps)
  local node = x.producer
  if not node or #node.inputs == 0 or steps == 0 then return nil end
  if node.op == "Range" then
    local from, by = node.inputs[1]:scalar(), node.inputs[3]:scalar()
    if by == 1 and from then return -1, from end
    return nil
  end
  local y = node.inputs[1]
  if node.op == "Add" or node.op == "Sub" then
    local more = node.inputs[2]:scalar()
    if not more and node.op == "Add" then y, more = node.inputs[2], y:scalar() end
    local axis, offset = positions(y, steps - 1)
    if not axis or not more or not is_same(x, y, axis) then return nil end
    return axis, node.op == "Add" and offset + more or offset - more
  end
  local axis, offset = positions(y, steps - 1)
  if not axis then return nil end
  if node.op == "Cast" then
    -- These types count exactly.
    if x:type("double", "float", "int32", "int64") then return axis, offset end
    return nil
  end
  if node.op == "Identity" or node.op == "Expand" then
    if is_same(x, y, axis) then return axis, offset end
    return nil
  end
  -- One axis that counts, among axes of size 1.
  if node.op ~= "Unsqueeze" and node.op ~= "Reshape" or not x:rank() then return nil end
  for i = 1, y:rank() do
    if i ~= -axis and y:dim(-i) ~= 1 then return nil end
  end
  local at
  for i = 1, x:rank() do
    if x:dim(-i) ~= 1 then
      if at then return nil end
      at = -i
    end
  end
  if at and at >= -2 and x:dim(at) == y:dim(axis) then return at, offset end
  return nil
end

-- For a comparison a <= b with `more` added to b: EXACT if it is true where key j <= query i, or, if `hides`, where
-- j > i.
local function compared(x, a, b, more, hides, steps)
  local axis, offset = positions(a, steps)
  local other, added = positions(b, steps)
  if not axis or not other or not is_same(x, a, axis) or not is_same(x, b, other) then return nil end
  added = added + more - offset
  -- j <= i + added, or i <= j + added.
  if hides then return axis == -2 and other == -1 and added == -1 and EXACT or nil end
  return axis == -1 and other == -2 and added == 0 and EXACT or nil
end

-- What the constant x does if it has `fill` where it hides (`hides`) or keeps, and 0 elsewhere.
local function of_constant(proof, x, fill, hides)
  local op = proof.op
  if not x:const() or x:rank() < 2 then return nil end
  local function is_equal(a, b) return op.ReduceMin(op.Cast{op.Equal(a, b), to = "int32"}):scalar() == 1 end
  local numbers = op.Cast{x, to = "float"}
  local all = op.Expand(op.Constant{value_float = fill}, {x:dim(-2), x:dim(-1)})
  local behind = op.Trilu{all, 1, upper = 1}
  if is_equal(numbers, hides and behind or op.Trilu{all, upper = 0}) then return EXACT end
  return is_equal(op.Trilu{numbers, 1, upper = 1}, hides and behind or 0) and MORE or nil
end

-- What x does if its elements other than 0 are kept or, if `hides`, hidden.
local function switches(proof, x, hides, steps)
  if steps == 0 or not x:rank() then return nil end
  local known = of_constant(proof, x, 1, hides)
  if known then return known end
  local from = source(x, proof.cuts)
  if from then return switches(proof, from, hides, steps - 1) end
  local node = x.producer
  if not node then return nil end
  local a, b = node.inputs[1], node.inputs[2]
  local function of(y) return is_aligned(x, y) and switches(proof, y, hides, steps - 1) or nil end
  if node.op == "Not" then return switches(proof, a, not hides, steps - 1) end
  if node.op == "Cast" then
    return (x.dtype == "bool" or a.dtype == "bool") and switches(proof, a, hides, steps - 1) or nil
  end
  if node.op == "And" and not hides or node.op == "Or" and hides then
    local first, second = of(a), of(b)
    if first and number(proof.op, b) == (hides and 0 or 1) then return first end
    if second and number(proof.op, a) == (hides and 0 or 1) then return second end
    return weaker(first, second) or (first or second) and MORE
  end
  if node.op == "LessOrEqual" then return compared(x, a, b, 0, hides, steps - 1) end
  if node.op == "GreaterOrEqual" then return compared(x, b, a, 0, hides, steps - 1) end
  if node.op == "Less" then return compared(x, a, b, -1, hides, steps - 1) end
  if node.op == "Greater" then return compared(x, b, a, -1, hides, steps - 1) end
  if node.op == "Trilu" then
    local all, k = number(proof.op, a), node.inputs[2] and node.inputs[2]:scalar() or not node.inputs[2] and 0
    local upper = node.attrs.upper ~= 0
    return all and all ~= 0 and upper == hides and k == (hides and 1 or 0) and EXACT or nil
  end
  return nil
end

-- Whether all elements of x are 0 or 1, of what `switches` knows.
local function has_ones(proof, x, steps)
  local from = steps > 0 and source(x, proof.cuts)
  if from then return has_ones(proof, from, steps - 1) end
  local node = x.producer
  if node and node.op == "Cast" then return node.inputs[1].dtype == "bool" end
  return x:const() or node and node.op == "Trilu" and number(proof.op, node.inputs[1]) == 1 or false
end

-- What x does if it is added to scores, and the number by which it hides.
local function bias(proof, x, steps)
  if steps == 0 or not x:rank() then return nil end
  if x:const() then
    local op = proof.op
    local lowest = op.ReduceMin(op.Cast{x, to = "float"}):scalar()
    return of_constant(proof, x, lowest, true), lowest
  end
  local from = source(x, proof.cuts)
  if from then return bias(proof, from, steps - 1) end
  local node = x.producer
  if not node then return nil end
  local a, b = node.inputs[1], node.inputs[2]
  if node.op == "Cast" and a:type("bfloat16", "double", "float", "float16") then return bias(proof, a, steps - 1) end
  if node.op == "Where" then
    if not is_aligned(x, a) then return nil end
    local kept, other = switches(proof, a, false, steps - 1), node.inputs[3]
    if not kept then b, other = other, b end
    local does = kept or switches(proof, a, true, steps - 1)
    return does and (number(proof.op, b) == 0 and does or MORE), number(proof.op, other)
  end
  if node.op == "Trilu" then return switches(proof, x, true, steps - 1), number(proof.op, a) end
  if node.op == "Mul" then
    local fill = number(proof.op, b)
    if not fill then a, fill = b, number(proof.op, a) end
    if not fill or not is_aligned(x, a) then return nil end
    local made = a.producer
    local keeps = made and made.op == "Sub" and number(proof.op, made.inputs[1]) == 1 and made.inputs[2]
    local of = keeps or a
    return is_aligned(a, of) and has_ones(proof, of, steps) and switches(proof, of, not keeps, steps - 1) or nil, fill
  end
  if node.op == "Add" then
    for i = 1, 2 do
      local one, other = node.inputs[i], node.inputs[3 - i]
      local does, fill = nil, nil
      if is_aligned(x, one) then does, fill = bias(proof, one, steps - 1) end
      if does then return number(proof.op, other) == 0 and does or MORE, fill end
    end
  end
  return nil
end

-- Whether the axis of the mask has this length whenever the model runs. A mask that is cut to it from several rows is
-- no shorter: else it would not fit the scores.
local function is_as_long(mask, axis, length, cuts)
  local size = mask:dim(axis)
  if size == length then return true end
  for _, cut in ipairs(cuts) do
    if cut.size == size and cut.to == length and type(cut.from) == "number" and cut.from > 1 then return true end
  end
  return false
end

--- What a mask of `rows` queries and as many keys does: nil, or a table. It has `alone` if the mask hides from each
--- query the keys behind it and nothing else; without `alone` it hides more. `fill` is what it adds where it hides: any
--- number that hides if alone, else -inf.
function causal.of(op, mask, rows)
  if not mask:rank() or mask:rank() < 2 then return nil end
  local proof = {op = op, cuts = {}}
  local does, fill
  if mask.dtype == "bool" then
    does, fill = switches(proof, mask, false, MOST_STEPS), -math.huge
  else
    does, fill = bias(proof, mask, MOST_STEPS)
  end
  if not does or not fill or fill > (does == EXACT and HIGHEST or -math.huge) then return nil end
  if not is_as_long(mask, -1, rows, proof.cuts) or not is_as_long(mask, -2, rows, proof.cuts) then return nil end
  return {alone = does == EXACT, fill = fill}
end

--- A query always sees itself, so a finite fill hides as causality does if scores are smaller.
function causal.assume_fill(found, mask)
  if found.fill == -math.huge then return end
  assume(found.fill <= LOW and masking.FINITE or SMALL, mask)
end

return causal
