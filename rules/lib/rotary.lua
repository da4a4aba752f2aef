--- Rotary embeddings in all their spellings: functions from patterns to a
--- pattern, and functions that build from a match. Elements of the last axis
--- are rotated (`turned`) in pairs: an element of the first half and the
--- element at the same index of the second half, or two neighbours.
local axes = lib "axes"
local merge = lib "merge"

local rotary = {}

-- build(a, b) of the parts of x: its halves, or its elements at even and at odd
-- indices.
local function parted(op, x, build)
  local function slice(tag) return op.Slice{x, any(tag .. "_from"), inputs = any}:as(tag) end
  return either(
    function() return build(slice "first", slice "second") end,
    function()
      local a, b = op.Split{x, inputs = any, axis = any, num_outputs = any, outputs = 2}
      return build(a:as "split", b)
    end,
    function()
      local cut = op.Reshape{x, any, allowzero = any}:as "cut"
      local function column(i)
        local slice = op.Slice{cut, any(i .. "_from"), inputs = any}:as(i .. "_slice")
        return either(op.Gather{cut, i == "even" and 0 or 1, axis = -1}, op.Squeeze{slice, inputs = any}):as(i)
      end
      return build(column "even", column "odd")
    end,
    function()
      local a, b = op.Split{op.Reshape{x, any, allowzero = any}:as "cut", inputs = any, axis = -1,
        num_outputs = any, outputs = 2}
      return build(op.Squeeze{a:as "columns", inputs = any}:as "even", op.Squeeze{b, inputs = any}:as "odd")
    end)
end

-- The inverse of `parted`: joins the parts a and b.
local function joined(op, a, b)
  local stack = op.Concat{op.Unsqueeze(a, any):as "deep", op.Unsqueeze(b, any), axis = -1}
  return either(op.Concat{a, b, axis = any}:as "join", op.Reshape{stack, any, allowzero = any}:as "zip")
end

-- The pattern of f with each number doubled: f after f (or sections of f after
-- the same), or each number next to its copy; or a constant t. Steps that do not change the last axis may follow.
-- The nodes may have other users.
local function doubled(op, f, t, tag)
  local lone = op.Unsqueeze(f, any):as(tag .. "_lone")
  -- The name is not read: it keeps this Unsqueeze apart from `lone`, since
  -- equal patterns are one node.
  local stacked = op.Concat{lone, op.Unsqueeze(f, any(tag .. "_axes")), axis = any}
  local base = either(
    function() t:const "... W"; return t end,
    op.Concat{f, f, axis = any}:as(tag .. "_twice"),
    op.Transpose{op.Concat{f, f, axis = any}, perm = any}:as(tag .. "_turned"),
    op.Concat{rest(tag .. "_sections"), axis = any}:as(tag .. "_joined"),
    op.Reshape{either(op.Tile(lone, any), op.Expand(lone, any), stacked):as(tag .. "_wide"), any,
      allowzero = any}:as(tag .. "_zip"))
  return context(many(function(s)
    return either(op.Cos(s), op.Sin(s), op.Cast{s, to = any}, op.Mul(s, any), op.Unsqueeze(s, any),
      op.Slice{s, inputs = any}, op.Gather{s, any, axis = 0})
  end, base))
end

-- x, or x as another type.
local function cast(op, x, tag) return either(op.Cast{x, to = any}:as(tag), x) end

--- x with its pairs (a, b) rotated: x cos + quarter(x) sin, where quarter(x)
--- has the pairs (-b, a); or (a cos - b sin, b cos + a sin) joined. p holds the
--- variables for `doubled`. In the sum, x and quarter(x) may be cast, both in
--- the same way.
function rotary.turned(op, x, p)
  x:shape "_ _ _ W"
  local level = op.Mul(cast(op, x, "cast"), doubled(op, p.cos, p.cos_table, "cos")):as "level"
  local wide_sin = doubled(op, p.sin, p.sin_table, "sin")
  return parted(op, x, function(a, b)
    local quarter = cast(op, joined(op, op.Neg(b), a), "cast_turned")
    return either(op.Add(level, op.Mul(quarter, wide_sin):as "upright"),
      joined(op, op.Sub(op.Mul(a, p.cos), op.Mul(b, p.sin)), op.Add(op.Mul(b, p.cos), op.Mul(a, p.sin))))
  end)
end

-- Where a Transpose of this order moves an axis.
local function place_of(order, axis, rank)
  for place, from in ipairs(order or {}) do
    if from == axes.from_front(axis, rank) then return place - 1 end
  end
end

local function is_last(axis, rank) return axis == -1 or axis == rank - 1 end

-- Ends the match unless the Slice takes the elements of the last axis from
-- index `from` on, with step 1 or 2.
local function need_slice(slice, from, step)
  local rank = need(slice.outputs[1]:rank(), "the rank is unknown", slice)
  local function number(i)
    local value = slice.inputs[i]
    return value and value:rank() and (value:dims() or {})[1]
  end
  local stride = slice.inputs[5] == nil and 1 or number(5)
  need(#(slice.inputs[2]:dims() or {}) == 1 and number(2) == from and is_last(number(4), rank) and stride == step,
    "these are not the elements to rotate", slice)
end

-- Ends the match unless the two columns of x as [_,_,_,_,2] were found. Both
-- have half of the elements of x in the same order, so their sizes alone
-- determine them. The first is [_,_,_,D/2]. The second can differ only in axes
-- of size 1, since the joined result is as large as x.
local function need_columns(m, x)
  local cut = m.cut.outputs[1]
  need(cut:dim(-1) == 2 and cut:rank() == 5, "the elements are not paired", cut)
  for i, column in ipairs{m.even, m.odd} do
    local made = column.outputs[1]
    for axis = 0, 2 do need(made:dim(axis) == x:dim(axis), "the elements are not paired", made) end
    if column.op == "Squeeze" and not m.columns then need_slice(i == 1 and m.even_slice or m.odd_slice, i - 1, 1) end
  end
end

-- The value that is rotated: x, or x as another type.
local function factor(m) return m.cast and m.cast.outputs[1] or m.x end

--- Whether pairs of x are neighbours. Ends a match of `turned` that rotates
--- other pairs.
function rotary.need_pairs(m)
  local x = factor(m)
  local width = x:dim(-1)
  need(x.dtype == "float" or x.dtype == "float16", "RotaryEmbedding does not have this type on every device", x)
  need(type(width) == "number" and width > 0 and width % 2 == 0, "the size of the heads is not known, or odd", m.x)
  local pairs = m.zip ~= nil
  local part = m.split or m.even or m.first
  need(part.outputs[1]:rank() == 4 and part.outputs[1]:dim(-1) == width / 2,
    "the part that is rotated is not one half", part)
  if m.split then
    -- Along the last axis, since the part is half as wide.
    need(not pairs, "these are not the elements to rotate", m.split)
  elseif m.cut then
    need(pairs, "these are not the elements to rotate", m.even)
    need_columns(m, x)
  else
    need_slice(m.first, 0, pairs and 2 or 1)
    need_slice(m.second, pairs and 1 or width / 2, pairs and 2 or 1)
    need(m.second.outputs[1]:dim(-1) == width / 2, "the part that is rotated is not one half", m.second)
  end
  if not pairs then
    need(is_last(m.join.attrs.axis, 4), "the halves are not joined along the last axis", m.join)
    return false
  end
  need(m.deep.outputs[1]:rank() == 5 and m.deep.outputs[1]:dim(-1) == 1, "wrong shape of the joined pairs", m.deep)
  need(m.zip.outputs[1].shape == m.x.shape, "wrong shape of the joined pairs", m.zip)
  return true
end

-- One of each two numbers of the constant t, which must be equal.
local function once(op, m, t)
  local width = m.x:dim(-1)
  local function part(from, to, step) return op.Slice(t, {from}, {to}, {-1}, {step}) end
  local a, b = part(0, width / 2, 1), part(width / 2, width, 1)
  if m.pairs then a, b = part(0, width, 2), part(1, width, 2) end
  local equal = op.ReduceMin{op.Cast{op.Equal(a, b), to = "int32"}, keepdims = 0}
  need(equal:scalar() == 1, "the angles of a pair differ", t)
  return a
end

-- The steps from base to v, as `doubled` found them.
local function steps(v, base)
  local found = {}
  while v ~= base do
    local step = v.producer
    local number = step.op == "Mul" and (step.inputs[2]:scalar() and 2 or 1)
    need(not number or step.inputs[number]:scalar(), "the factor of the angles is not a constant", v)
    table.insert(found, 1, step)
    v = step.inputs[number == 1 and 2 or 1]
  end
  return found
end

-- f without the doubling of each number that `lone`, `wide` and `zip` do, but
-- with the other axes that they add.
local function unzipped(op, f, lone, wide, zip)
  local rank, more, deeper = lone.outputs[1]:rank(), {}, false
  for _, axis in ipairs(rank and lone.inputs[2]:dims() or {}) do
    if is_last(axis, rank) then deeper = true else more[#more + 1] = axis < 0 and axis + rank or axis end
  end
  if #more > 0 then f = op.Unsqueeze(f, more) end
  -- `rows` checks that heads are twice as wide as f. Each number of f becomes
  -- two, so no axis in front can be longer.
  need(deeper and wide:dim(-1) == 2 and zip:rank() == rank - 1, "wrong shape of the doubled angles", zip)
  for axis = 0, rank - 3 do
    need(zip:dim(axis) == f:dim(axis), "wrong shape of the doubled angles", zip)
  end
  return f
end

-- The first half of sections that are joined along the last axis to base; the
-- second half must be the same.
local function first_half(op, sections, base)
  local half, first = #sections / 2, {}
  for i, section in ipairs(sections) do
    need(half % 1 == 0 and section == sections[(i - 1) % half + 1], "the angles of a pair differ", base)
    if i <= half then first[i] = section end
  end
  return op.Concat{first, axis = -1}
end

-- The factor v, as `doubled` found it, without the doubling.
local function halved(op, m, v, tag)
  local width = m.x:dim(-1)
  local f, base = m[tag], m[tag .. "_table"]
  if base then
    f = once(op, m, base)
  elseif m.pairs then
    base = need(m[tag .. "_zip"], "the angles of a pair differ", f).outputs[1]
    f = unzipped(op, f, m[tag .. "_lone"], m[tag .. "_wide"].outputs[1], base)
  else
    local turned, joined = m[tag .. "_turned"], m[tag .. "_twice"] or m[tag .. "_joined"]
    local last = need(turned or joined, "the angles of a pair differ", f)
    base = last.outputs[1]
    local rank = need(base:rank(), "the rank of the angles is unknown", base)
    local axis = (joined or turned.inputs[1].producer).attrs.axis
    if turned then axis = place_of(turned.attrs.perm, axis, rank) end
    need(is_last(axis, rank), "wrong shape of the doubled angles", base)
    if turned then f = turned:with(f) end
    if m[tag .. "_joined"] then f = first_half(op, m[tag .. "_sections"], base) end
  end
  for _, step in ipairs(steps(v, base)) do
    local was = step.outputs[1]
    need(base:rank() ~= 1 or step.op ~= "Gather", "a step changes the last axis", was)
    need(base:dim(-1) == width and was:dim(-1) == width, "a step changes the last axis", was)
    f = step.op == "Mul" and op.Mul(f, step.inputs[step.inputs[1] == base and 2 or 1]) or step:with(f)
    base = was
  end
  return f
end

-- c, which broadcasts to the pairs of x, as [S,D/2] or [1 or B,S,D/2]; then
-- whether x is [B,S,H,D] rather than [B,H,S,D].
local function rows(op, x, c)
  local rank = need(c:rank(), "the rank of the angles is unknown", c)
  need(rank > 1 and rank < 5 and c:dim(-1) == x:dim(-1) / 2, "the angles are not one for each pair", c)
  local function size(axis) return axis + rank < 4 and 1 or c:dim(axis + rank - 4) end
  need(size(0) == 1 or size(0) == x:dim(0), "the angles do not fit", c)
  local behind = not (size(1) == 1 and size(2) == x:dim(2))
  need(not behind or (size(2) == 1 and size(1) == x:dim(1)), "the angles do not fit", c)
  if rank == 2 or (rank == 3 and not behind) then return c, behind end
  local heads = behind and rank - 2 or rank - 3
  local made = c.producer
  if made and made.op == "Unsqueeze" and (made.inputs[2]:dims() or {})[1] == heads and
    made.inputs[1]:rank() == rank - 1 then
    return made.inputs[1], behind
  end
  return op.Squeeze(c, {heads}), behind
end

--- For a match of `turned`: the value that is rotated; the cosines and the
--- sines for its pairs, both as [S,D/2] or as [1 or B,S,D/2]; whether the value
--- is [B,S,H,D] rather than [B,H,S,D].
function rotary.operands(op, m)
  local x, cos, sin = factor(m), m.cos, m.sin
  if m.upright then
    local turned = (m.cast_turned or m.join or m.zip).outputs[1]
    local function beside(part, product) return product.inputs[product.inputs[1] == part and 2 or 1] end
    cos, sin = halved(op, m, beside(x, m.level), "cos"), halved(op, m, beside(turned, m.upright), "sin")
  end
  local cos_rows, behind = rows(op, x, cos)
  local sin_rows, sin_behind = rows(op, x, sin)
  need(cos_rows.shape == sin_rows.shape and behind == sin_behind, "sines and cosines differ in shape", sin)
  return x, cos_rows, sin_rows, behind
end

--- build(x); or, if x is [B,S,H,D], build(x as [B,S,H*D], H), reshaped back.
function rotary.built(op, x, behind, build)
  merge.need_elements(x)
  if not behind then return build(x) end
  local heads, width = x:dim(2), x:dim(3)
  need(type(heads) == "number", "the number of heads is not known", x)
  return op.Reshape(build(op.Reshape(x, {0, 0, heads * width}), heads), {0, 0, heads, width})
end

--- The first elements of x rotated, the rest unchanged. turned(a) is a
--- RotaryEmbedding of a; for heads after tokens, a is [B,S,H*D].
function rotary.partial(op, x, turned)
  x:rank(4)
  local function slice(tag) return op.Slice{x, any(tag .. "_from"), inputs = any}:as(tag) end
  local function join(a, b)
    local merged = op.Reshape{a, any, allowzero = any}:as "merged"
    local apart = op.Reshape{turned(merged):as "rotary", any, allowzero = any}:as "apart"
    return op.Concat{either(turned(a):as "rotary", apart), b, axis = any}:as "join"
  end
  return either(
    function() return join(slice "first", slice "second") end,
    function()
      local a, b = op.Split{x, inputs = any, axis = any, num_outputs = any, outputs = 2}
      return join(a:as "split", b)
    end)
end

--- Ends a match of `partial` unless one part of the last axis is rotated.
--- Returns the size of that part and the number of heads.
function rotary.need_part(m)
  local outputs = m.split and m.split.outputs or {m.first.outputs[1], m.second.outputs[1]}
  local width, rest, heads = outputs[1]:dim(-1), outputs[2]:dim(-1), m.x:dim(m.apart and 2 or 1)
  need(type(heads) == "number", "the number of heads is not known", m.x)
  need(type(width) == "number" and type(rest) == "number" and width + rest == m.x:dim(-1),
    "x is not split into two parts of its last axis", m.x)
  need(is_last(m.join.attrs.axis, 4), "the parts are not joined along the last axis", m.join)
  need(m.cos:dim(-1) == width / 2, "the angles are not one for each pair", m.cos)
  if m.split then
    need(is_last(m.split.attrs.axis, 4), "x is not split into two parts of its last axis", m.split)
  else
    need_slice(m.first, 0, 1)
    need_slice(m.second, width, 1)
  end
  if m.apart then
    local merged = m.merged.outputs[1]
    need(m.apart.outputs[1].shape == outputs[1].shape, "wrong shape of the split heads", m.apart)
    need(merged:rank() == 3 and merged:dim(0) == m.x:dim(0) and merged:dim(1) == m.x:dim(1),
      "wrong shape of the merged heads", merged)
  end
  return width, heads
end

return rotary
