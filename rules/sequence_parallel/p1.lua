--- The first norm of a stack, on each rank's share.
local shard = lib "shard"

-- Whether p2 will take `user`, an add_rms_norm2 that reads `value` as its
-- residual, to the share.
local function takes_residual(m, user, value)
  if user.op ~= "add_rms_norm2" then return false end
  local a, b = user.inputs[1], user.inputs[2]
  if a == b or user.inputs[3] == value then return false end
  local other = (a == value and b or a).producer
  if not other or other.op ~= "all_reduce" or other.outputs[1].shape ~= value.shape then return false end
  local group = other.attrs.rank_group
  if not group or #group ~= #m.group or other.attrs.rank ~= m.rank then return false end
  for i, rank in ipairs(group) do
    if rank ~= m.group[i] then return false end
  end
  return true
end

return rule {
  doc = [[
    norm(all_reduce(x))   =>   all_gather(norm(reduce_scatter(x)))

    Norms over the last axis, add_rms_norm with a residual that is a share already among them. A region marker in
    between goes to the share. Other readers of the sum keep it, except the residual of an add_rms_norm2 that p2 takes
    to the share. Each rank normalizes its share of the tokens: 1/N of the work and of the activations.]],
  phase = "parallel",
  options = { enable = true },
  when = function(_, options) return options.enable end,

  match = function(op, x, r, w, b, rank, group, dim, axis)
    local cast = op.tensor_cast
    local sum = context(cast.all_reduce{x, rank = rank, rank_group = group}:as "reduce")
    local marked = either(context(cast._internal_mark_region_begin{sum, attrs = any}:as "marker"), sum)
    local residual = either(cast.all_gather{r, dim = dim, rank = rank, rank_group = group}, r)
    return either(shard.norms(op, marked, axis, w, b),
      cast.add_rms_norm{marked, residual, maybe(w), attrs = any}:as "norm",
      cast.add_rms_norm{residual, marked, maybe(w), attrs = any}:as "norm")
  end,

  where = function(m)
    local sum = m.reduce.outputs[1]
    m.share = shard.share(m.x, sum, m.group)
    need(shard.is_last(m.axis, sum), "the norm looks at more than the last axis", m.norm)
    shard.need_vectors(m.w, m.b)
    need(not m.dim or m.dim == shard.axis(m.r:rank()), "the residual is gathered along another axis", m.r)
    if m.r then
      need(m.dim or shard.is_local(m.r), "the residual is not known to be a share", m.r)
      need(shard.is_share(m.r, m.share), "the residual is not known to be a share", m.r)
    end
    local value = (m.marker or m.reduce).outputs[1]
    m.readers = {}
    local others = value.is_output
    for _, user in ipairs(value.users) do
      if user ~= m.norm and takes_residual(m, user, value) then m.readers[#m.readers + 1] = user
      elseif user ~= m.norm then others = true end
    end
    need(not m.marker or not others, "others would see the share behind the marker", value)
  end,

  rewrite = function(op, m)
    local part = shard.scatter(op, m.x, m.share, m.rank, m.group)
    local old = (m.marker or m.reduce).outputs[1]
    if m.marker then part = m.marker:with(part) end
    for _, user in ipairs(m.readers) do user:replace_input(old, shard.gather(op, part, m.rank, m.group)) end
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
    { "of the other readers only a residual moves", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w) => (float[1,4,8] y, float[1,4,8] z, float[1,4,8] n) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          n = tensor_cast.rms_norm(s, w)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          y, t = tensor_cast.add_rms_norm2(s, s2, w)
          z = Relu(s)
        }]],
      [[s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
        z = Relu(s)
        s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
        p = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (p)
        y, t = tensor_cast.add_rms_norm2(g, s2, w)
        n2 = tensor_cast.rms_norm(p, w)
        n = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n2)]] },
    { "a weight for each token", [[
        (float[1,4,8] x, float[4,8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = tensor_cast.rms_norm(s, w)
        }]],
      rejected = "the weight is no vector" },
    { "three tokens for two ranks", [[
        (float[1,3,8] x, float[8] w) => (float[1,3,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = tensor_cast.rms_norm(s, w)
        }]],
      rejected = "the tokens cannot be shared out evenly" },
  },
}
