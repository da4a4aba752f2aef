--- Compute the last sum of a stack and the norm after it on each rank's share.
local shard = lib "shard"

return rule {
  doc = [[
    norm(all_gather(t) + all_reduce(x))   =>   all_gather(norm(t + reduce_scatter(x)))

    t is the second result of an add_rms_norm2 that p2 marked (tensor_cast_sp_local). The sum may be reshaped by a
    leading 1. The end of a region and copies may be before the norm. An add_rms_norm is sum and norm in one node.]],
  phase = "parallel",
  after = "p2",
  options = { enable = true },
  when = function(_, options) return options.enable end,

  match = function(op, x, t, w, b, rank, group, dim, axis)
    local cast = op.tensor_cast
    local sum = context(cast.all_reduce{x, rank = rank, rank_group = group}:as "reduce")
    local whole = either(op.Reshape{sum, any, allowzero = any}:as "view", sum)
    local residual = either(cast.all_gather{t, dim = dim, rank = rank, rank_group = group}:as "gather", t)
    local added = shard.through(op, op.Add(residual, whole):as "add", "step")
    return either(shard.norms(op, added, axis, w, b),
      cast.add_rms_norm{residual, whole, maybe(w), attrs = any}:as "norm",
      cast.add_rms_norm{whole, residual, maybe(w), attrs = any}:as "norm")
  end,

  where = function(m)
    m.share = shard.share(m.x, (m.view or m.reduce).outputs[1], m.group)
    shard.share(m.x, m.reduce.outputs[1], m.group)
    shard.need_vectors(m.group, m.w, m.b)
    shard.need_tokens(m, m.t)
    need(shard.is_share(m.t, m.share), "the residual is not a share of this sum", m.t)
    need(shard.is_last(m.axis, m.norm.inputs[1]), "the norm looks at more than the last axis", m.norm)
    need(shard.is_layer_residual(m.t), "the residual does not come out of a layer on shares", m.t)
  end,

  rewrite = function(op, m)
    local part = shard.scatter(op, m.x, m.share, m.rank, m.group)
    local inputs = {}
    if m.add then
      local y = op.Add(m.t, part)
      for _, step in ipairs(m.step) do y = step:with(y) end
      inputs[1] = y
    else
      local whole = (m.view or m.reduce).outputs[1]
      local first = m.norm.inputs[1] == whole
      inputs[1], inputs[2] = first and part or m.t, first and m.t or part
    end
    return shard.gather(op, m.norm:with(inputs), m.rank, m.group)
  end,

  examples = {
    { "a layer that p2 marked", [[
        (float[1,2,8] a, float[1,2,8] b, float[1,4,8] x) => (float[1,4,8] y) {
          ["tensor_cast_sp_local": "1"] n, t = tensor_cast.add_rms_norm2(a, b)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (t)
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          z = Add(g, s)
          y = tensor_cast.rms_norm(z)
        }]],
      [[n, t = tensor_cast.add_rms_norm2(a, b)
        s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        z = Add(t, s)
        r = tensor_cast.rms_norm(z)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)]] },
    { "a sum and its norm in one, the sum reshaped", [[
        (float[1,2,8] a, float[1,2,8] b, float[4,8] x) => (float[1,4,8] y) <int64[3] s = {1,4,8}> {
          ["tensor_cast_sp_local": "1"] n, t = tensor_cast.add_rms_norm2(a, b)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (t)
          u = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          v = Reshape(u, s)
          y = tensor_cast.add_rms_norm(g, v)
        }]],
      [[n, t = tensor_cast.add_rms_norm2(a, b)
        u = tensor_cast.reduce_scatter <dim = 0, rank = 0, rank_group = [0,1]> (x)
        part = Constant <value = int64[3] {1,2,8}> ()
        v = Reshape(u, part)
        r = tensor_cast.add_rms_norm(t, v)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)]] },
    { "an unmarked layer", [[
        (float[1,2,8] a, float[1,2,8] b, float[1,4,8] x) => (float[1,4,8] y) {
          n, t = tensor_cast.add_rms_norm2(a, b)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (t)
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          z = Add(g, s)
          y = tensor_cast.rms_norm(z)
        }]],
      rejected = "the residual does not come out of a layer on shares" },
  },
}
