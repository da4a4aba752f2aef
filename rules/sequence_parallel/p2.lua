--- Compute a layer's sum with its residual, and its norm, on each rank's share.
local shard = lib "shard"

return rule {
  doc = [[
    y, t = add_rms_norm2(all_reduce(x), all_gather(r))
      =>   y', t' = add_rms_norm2(reduce_scatter(x), r);  y, t = all_gather(y'), all_gather(t')

    In either order. The residual is read through a gather without other readers, and through markers, copies and a
    Reshape by a leading 1; or it is a sum that p1 has sharded for its norm; or it is a share itself, as in a graph that
    is partly rewritten. Unused gathers are dropped: in a chain of layers those of the residuals. Marks the norm as
    tensor_cast_sp_local.]],
  phase = "parallel",
  after = "p1",
  options = { enable = true },
  when = function(_, options) return options.enable end,
  meta = { tensor_cast_sp_local = "1" },

  match = function(op, x, r, w, rank, group, dim, other)
    local cast = op.tensor_cast
    local sum = context(cast.all_reduce{x, rank = rank, rank_group = group}:as "reduce")
    local function view(v) return op.Reshape{v, any, allowzero = any} end
    local function shared_out()
      context(cast.reduce_scatter{other, dim = any, rank = rank, rank_group = group})
      return context(cast.all_reduce{other, rank = rank, rank_group = group}:as "whole")
    end
    local residual = either(
      shard.through(op, cast.all_gather{r, dim = dim, rank = rank, rank_group = group}:as "gather", "step", view),
        shared_out)
    local function layer(a, b) return cast.add_rms_norm2{a, b, maybe(w), attrs = any, outputs = any}:as "norm" end
    return either(layer(sum, residual), layer(residual, sum), layer(sum, r), layer(r, sum))
  end,

  where = function(m)
    m.share = shard.share(m.x, m.reduce.outputs[1], m.group)
    shard.need_vectors(m.group, m.w)
    shard.need_tokens(m, m.r)
    m.views = {}
    local own = m.whole and shard.share(m.other, m.whole.outputs[1], m.group)
    m.own = own
    for i, step in ipairs(m.step or {}) do
      if step.op == "Reshape" then
        own = shard.share(step.inputs[1], step.outputs[1], m.group)
        m.views[i] = own
      end
    end
    need(shard.is_share(m.r, m.share, own), "the residual is not known to be a share", m.r or m.other)
  end,

  rewrite = function(op, m)
    local part = shard.scatter(op, m.x, m.share, m.rank, m.group)
    local r = m.r or shard.scatter(op, m.other, m.own, m.rank, m.group)
    for i, step in ipairs(m.step or {}) do r = m.views[i] and op.Reshape(r, m.views[i]) or step:with(r) end
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
    { "gathered along the second axis from the back", [[
        (float[1,4,8] x, float[1,2,8] r, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          g = tensor_cast.all_gather <dim = -2, rank = 0, rank_group = [0,1]> (r)
          y, t = tensor_cast.add_rms_norm2(s, g, w)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n, t = tensor_cast.add_rms_norm2(s, r, w)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n)]] },
    { "the residual without its leading 1", [[
        (float[4,8] x, float[1,2,8] r) => (float[4,8] y) <int64[2] flat = {4,8}> {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)
          v = Reshape(g, flat)
          y, t = tensor_cast.add_rms_norm2(s, v)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 0, rank = 0, rank_group = [0,1]> (x)
        flat2 = Constant <value = int64[2] {2,8}> ()
        v = Reshape(r, flat2)
        n, t = tensor_cast.add_rms_norm2(s, v)
        y = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (n)]] },
    { "a leading 1 that makes the batch the second axis", [[
        (float[1,2,4,8] x, float[2,2,8] r) => (float[1,2,4,8] y) <int64[4] s4 = {1,2,4,8}> {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)
          v = Reshape(g, s4)
          y, t = tensor_cast.add_rms_norm2(s, v)
        }]],
      rejected = "the new shape would be sharded differently" },
    { "the sum is not even named", [[
        (float[1,4,8] x, float[1,2,8] r) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)
          y = tensor_cast.add_rms_norm2(s, g)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n = tensor_cast.add_rms_norm2(s, r)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n)]] },
    { "of two sums one is shared out already", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w) => (float[1,4,8] y, float[1,4,8] n) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          p = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
          n = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (p)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          y, t = tensor_cast.add_rms_norm2(s, s2, w)
        }]],
      [[p = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (p)
        p2 = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x2)
        y2, t = tensor_cast.add_rms_norm2(p, p2, w)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (y2)]] },
    { "of two sums neither is", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          y, t = tensor_cast.add_rms_norm2(s, s2, w)
        }]],
      rejected = "the residual is not known to be a share" },
    { "a residual that is whole", [[
        (float[1,4,8] x, float[1,4,8] r, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y, t = tensor_cast.add_rms_norm2(s, r, w)
        }]],
      rejected = "the residual is not known to be a share" },
  },
}
