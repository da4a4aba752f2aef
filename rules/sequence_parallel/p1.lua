--- Compute the first norm of a stack on each rank's share.
local shard = lib "shard"

return rule {
  doc = [[
    norm(all_reduce(x))   =>   all_gather(norm(reduce_scatter(x)))

    Norms over the last axis, also add_rms_norm with a residual that is already a share. A region marker in between
    moves to the share; an add_rms_norm2 that reads it as its residual reads it gathered. Other readers of the sum keep
    it. Each rank normalizes its share of the tokens: 1/N of the work and of the activations.]],
  phase = "parallel",
  options = { enable = true },
  when = function(_, options) return options.enable end,

  match = function(op, x, r, w, b, rank, group, dim, axis)
    local cast = op.tensor_cast
    local sum = context(cast.all_reduce{x, rank = rank, rank_group = group}:as "reduce")
    local marker = cast._internal_mark_region_begin{sum, attrs = any}:as "marker"
    -- `context` applies to a node in the whole pattern, so the marker that a layer reads too is a node of its own.
    local shared = context(cast._internal_mark_region_begin{sum, inputs = any, attrs = any}:as "shared")
    local function read_by_a_layer()
      local other = cast.all_reduce{any, rank = rank, rank_group = group}
      context(either(cast.add_rms_norm2{shared, other, maybe(any), attrs = any, outputs = any}:as "layer",
        cast.add_rms_norm2{other, shared, maybe(any), attrs = any, outputs = any}:as "layer"))
      return shared
    end
    local marked = either(read_by_a_layer, marker, sum)
    local residual = either(cast.all_gather{r, dim = dim, rank = rank, rank_group = group}:as "gather", r)
    return either(shard.norms(op, marked, axis, w, b),
      cast.add_rms_norm{marked, residual, maybe(w), attrs = any}:as "norm",
      cast.add_rms_norm{residual, marked, maybe(w), attrs = any}:as "norm")
  end,

  where = function(m)
    local sum = m.reduce.outputs[1]
    m.share = shard.share(m.x, sum, m.group)
    need(shard.is_last(m.axis, sum), "the norm looks at more than the last axis", m.norm)
    shard.need_vectors(m.group, m.w, m.b)
    shard.need_tokens(m, m.r)
    if m.r then
      need(m.dim or shard.is_local(m.r), "the residual is not known to be a share", m.r)
      need(shard.is_share(m.r, m.share), "the residual is not known to be a share", m.r)
    end
    local value = m.shared and m.shared.outputs[1]
    need(not value or #value.users == 2 and not value.is_output, "other nodes read the share behind the marker", value)
  end,

  rewrite = function(op, m)
    local part = shard.scatter(op, m.x, m.share, m.rank, m.group)
    local marker = m.marker or m.shared
    local old = (marker or m.reduce).outputs[1]
    if marker then part = marker:with(part) end
    if m.layer then m.layer:replace_input(old, shard.gather(op, part, m.rank, m.group)) end
    local inputs = {}
    for i, v in ipairs(m.norm.inputs) do inputs[i] = v == old and part or m.r and i <= 2 and m.r or v end
    return shard.gather(op, m.norm:with(inputs), m.rank, m.group)
  end,

  examples = {
    { "behind a marker", [[
        (float[1,4,8] x, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          b = tensor_cast._internal_mark_region_begin <region_id = 1> (s)
          y = tensor_cast.rms_norm(b, w)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        b = tensor_cast._internal_mark_region_begin <region_id = 1> (s)
        n = tensor_cast.rms_norm(b, w)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n)]] },
    { "behind a marker that a layer reads too", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w) => (float[1,4,8] y, float[1,4,8] n) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          b = tensor_cast._internal_mark_region_begin <region_id = 1> (s)
          n = tensor_cast.rms_norm(b, w)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          y, t = tensor_cast.add_rms_norm2(b, s2, w)
        }]],
      [[s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
        s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        b = tensor_cast._internal_mark_region_begin <region_id = 1> (s)
        g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (b)
        y, t = tensor_cast.add_rms_norm2(g, s2, w)
        n2 = tensor_cast.rms_norm(b, w)
        n = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n2)]] },
    { "behind a marker that others read", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w) => (float[1,4,8] y, float[1,4,8] n, float[1,4,8] z) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          b = tensor_cast._internal_mark_region_begin <region_id = 1> (s)
          n = tensor_cast.rms_norm(b, w)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          y, t = tensor_cast.add_rms_norm2(b, s2, w)
          z = Relu(b)
        }]],
      rejected = "other nodes read the share behind the marker" },
    { "other readers of the sum", [[
        (float[1,4,8] x, float[8] w) => (float[1,4,8] z, float[1,4,8] n) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          n = tensor_cast.rms_norm(s, w)
          z = Relu(s)
        }]],
      [[s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
        z = Relu(s)
        p = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n2 = tensor_cast.rms_norm(p, w)
        n = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n2)]] },
    { "a weight for each token", [[
        (float[1,4,8] x, float[4,8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = tensor_cast.rms_norm(s, w)
        }]],
      rejected = "the weight is not a vector" },
    { "three tokens for two ranks", [[
        (float[1,3,8] x, float[8] w) => (float[1,3,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = tensor_cast.rms_norm(s, w)
        }]],
      rejected = "the tokens cannot be sharded evenly" },
    { "a weight that each rank has of its own", [[
        (float[1,4,8] x, float[16] v) => (float[1,4,8] y) {
          w = tensor_cast.reduce_scatter <dim = 0, rank = 0, rank_group = [0,1]> (v)
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = tensor_cast.rms_norm(s, w)
        }]],
      rejected = "it may differ between the ranks" },
    { "or that ranks add up elsewhere", [[
        (float[1,4,8] x, float[8] w) => (float[1,4,8] y, float[8] z) {
          z = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (w)
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = tensor_cast.rms_norm(s, w)
        }]],
      rejected = "it may differ between the ranks" },
  },
}
