--- A layer's sum with its residual, and the norm of it, on each rank's share.
local shard = lib "shard"

return rule {
  doc = [[
    y, t = add_rms_norm2(all_reduce(x), all_gather(r))
      =>   y', t' = add_rms_norm2(reduce_scatter(x), r);  y, t = all_gather(y'), all_gather(t')

    In either order. The residual is read through its gather, where nobody else needs that, and through markers and
    copies; or it is a share already, as in a graph that arrives half-rewritten. Gathers that nobody reads are dropped:
    in a chain of layers those of the residuals. Marks the norm as tensor_cast_sp_local.]],
  phase = "parallel",
  after = "p1",
  options = { enable = true },
  when = function(_, options) return options.enable end,
  meta = { tensor_cast_sp_local = "1" },

  match = function(op, x, r, w, rank, group, dim)
    local cast = op.tensor_cast
    local sum = context(cast.all_reduce{x, rank = rank, rank_group = group}:as "reduce")
    local residual = either(
      shard.through(op, cast.all_gather{r, dim = dim, rank = rank, rank_group = group}:as "gather", "step"), r)
    return either(
      cast.add_rms_norm2{sum, residual, maybe(w), attrs = any, outputs = any}:as "norm",
      cast.add_rms_norm2{residual, sum, maybe(w), attrs = any, outputs = any}:as "norm")
  end,

  where = function(m)
    m.share = shard.share(m.x, m.reduce.outputs[1], m.group)
    shard.need_vectors(m.w)
    need(not m.dim or m.dim == shard.axis(m.r:rank()), "the residual is gathered along another axis", m.r)
    need(shard.is_share(m.r, m.share), "the residual is not known to be a share", m.r)
  end,

  rewrite = function(op, m)
    local part, r = shard.scatter(op, m.x, m.share, m.rank, m.group), m.r
    for _, step in ipairs(m.step or {}) do r = step:with(r) end
    local first = m.norm.inputs[1] == m.reduce.outputs[1]
    local y, t = m.norm:with(first and part or r, first and r or part)
    local sum = m.norm.outputs[2]
    if sum then sum:replace_with(shard.gather(op, t, m.rank, m.group)) end
    return shard.gather(op, y, m.rank, m.group)
  end,

  examples = {
    { "the residual through its gather", [[
        (float[1,4,8] x, float[1,2,8] r, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)
          y, t = tensor_cast.add_rms_norm2(s, g, w)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n, t = tensor_cast.add_rms_norm2(s, r, w)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n)]] },
    { "the sum is not even named", [[
        (float[1,4,8] x, float[1,2,8] r) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)
          y = tensor_cast.add_rms_norm2(s, g)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n = tensor_cast.add_rms_norm2(s, r)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n)]] },
    { "a residual that is whole", [[
        (float[1,4,8] x, float[1,4,8] r, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y, t = tensor_cast.add_rms_norm2(s, r, w)
        }]],
      rejected = "the residual is not known to be a share" },
  },
}
