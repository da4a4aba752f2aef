--- Tensors that are sharded along their tokens over the ranks of a group.
local axes = lib "axes"
local shard = {}

--- The axis, counted from the front, along which m.gather joins the shares v.
--- Ends the match if its axis or its ranks are unknown.
function shard.gathered_axis(m, v)
  need(m.dim and m.group, "the gather does not say its axis or its ranks", m.gather)
  return axes.from_front(m.dim, need(v:rank(), "the rank is unknown", v))
end

--- Ends the match if the share v is gathered along another axis than the token
--- axis; m.gather is nil if v is not gathered.
function shard.need_tokens(m, v)
  need(not m.gather or shard.gathered_axis(m, v) == v.token_axis, "the residual is gathered along the wrong axis", v)
end

-- The sizes of v, when all are numbers.
local function numbers(v)
  local sizes = {}
  for i = 1, need(v:rank(), "the shape is unknown", v) do
    sizes[i] = v:dim(i - 1)
    need(type(sizes[i]) == "number", "the shape is symbolic", v)
  end
  return sizes
end

local function same(a, b, skip)
  for i = 1, #b do
    if a[i + (skip or 0)] ~= b[i] then return false end
  end
  return #a == #b + (skip or 0)
end

-- Whether b is [S,D] and a is [1,S,D]: both are sharded along S. This does not
-- hold for more axes: every tensor of higher rank is sharded along its second
-- axis.
local function lacks_one(a, b) return #a == 3 and a[1] == 1 and same(a, b, 1) end

-- Whether the shapes are equal or differ in a leading 1.
local function fits(a, b) return same(a, b) or lacks_one(a, b) or lacks_one(b, a) end

--- The sizes of one rank's share of `whole`, which is x summed over the group,
--- or that reshaped. Ends the match if equal shares are impossible or differ
--- from the shares of x.
function shard.share(x, whole, group)
  local ranks = group and #group or 0
  need(ranks > 1, "the group has one rank or none", whole)
  local from, to = numbers(x), numbers(whole)
  need(#to >= 2, "there is no axis of tokens", whole)
  need(fits(from, to), "the new shape would be sharded differently", whole)
  local axis = whole.token_axis + 1
  need(to[axis] % ranks == 0, "the tokens cannot be sharded evenly", whole)
  to[axis] = to[axis] / ranks
  return to
end

--- Whether v has these sizes, or lacks only a leading 1. `own` are its sizes if
--- they differ from those in the graph.
function shard.is_share(v, sizes, own)
  if not own then
    if not v:rank() then return false end
    own = {}
    for i = 1, v:rank() do own[i] = v:dim(i - 1) end
  end
  return same(own, sizes) or lacks_one(sizes, own)
end

--- Whether v is the second result of an add_rms_norm2 that p2 marked.
function shard.is_layer_residual(v)
  local layer = v.producer
  return layer and layer.op == "add_rms_norm2" and layer.outputs[2] == v and layer.meta.tensor_cast_sp_local == "1"
end

--- Whether v is computed as a share.
function shard.is_local(v)
  return v.producer and v.producer.op == "reduce_scatter" or shard.is_layer_residual(v)
end

--- Builds the share of this rank of the sum of x over the group, in these
--- sizes.
function shard.scatter(op, x, sizes, rank, group)
  local part = op.tensor_cast.reduce_scatter{x, dim = x.token_axis, rank = rank, rank_group = group}
  return part:rank() == #sizes and part or op.Reshape(part, sizes)
end

--- Joins the shares v of all ranks along `axis`; without `axis` along the token
--- axis.
function shard.gather(op, v, rank, group, axis)
  return op.tensor_cast.all_gather{v, dim = axis or v.token_axis, rank = rank, rank_group = group}
end

--- The pattern of x after any number of markers and copies, which are tagged.
--- `view` is another step that is allowed between them.
function shard.through(op, x, tag, view)
  local cast = op.tensor_cast
  return many(function(s)
    local step = either(cast._internal_mark_region_begin{s, attrs = any}:as(tag),
      cast._internal_mark_region_end{s, attrs = any}:as(tag), cast._internal_copy_region(s):as(tag))
    return view and either(step, view(s):as(tag)) or step
  end, x)
end

--- The norms of v over the last axis only; tagged `norm`. `axis` is the
--- attribute of the ONNX norms, w the weight, b the bias.
function shard.norms(op, v, axis, w, b)
  return either(op.tensor_cast.rms_norm{v, maybe(w), attrs = any}:as "norm",
    op.RMSNormalization{v, w, axis = axis, attrs = any}:as "norm",
    op.LayerNormalization{v, w, maybe(b), axis = axis, attrs = any}:as "norm")
end

--- Ends the match if v, an unsharded input of a node that works on shares, may
--- differ between the ranks of the group.
function shard.need_common(v, group)
  need(not v or v:replicated(group), "it may differ between the ranks", v)
end

--- Ends the match if a weight or bias has more than one number for each column,
--- since the rows are sharded, or may differ between the ranks of the group.
function shard.need_vectors(group, ...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if v then need(need(v:rank(), "the rank of the weight is unknown", v) <= 1, "the weight is not a vector", v) end
    shard.need_common(v, group)
  end
end

--- Whether a matched norm works on the last axis of v only.
function shard.is_last(axis, v)
  return axis == nil or axis == -1 or axis == v:rank() - 1
end

return shard
