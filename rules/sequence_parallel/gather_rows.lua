--- Gather only the tokens that are read.
local axes = lib "axes"
local shard = lib "shard"

return rule {
  doc = [[
    all_gather(x)[a:b]   =>   all_gather(x[a':b'])[c:d]

    The tokens are on one rank, such as the last token before a language model's head. No collective states which rank
    that is, so every rank sends as many tokens as are read, and those of the other ranks are dropped: N(b-a) tokens are
    gathered instead of all. The gather has no other reader.]],
  phase = "parallel",
  after = "gather_narrow",
  options = { enable = true },
  when = function(_, options) return options.enable end,

  match = function(op, x, dim, rank, group, index, starts, ends, axes, steps)
    local whole = op.tensor_cast.all_gather{x, dim = dim, rank = rank, rank_group = group}:as "gather"
    return either(
      op.Gather{whole, index, axis = any "axis"}:as "pick",
      op.Slice(whole, starts, ends, maybe(axes), maybe(steps)))
  end,

  where = function(m)
    local axis, ndim = shard.gathered_axis(m, m.x), m.x:rank()
    local n = m.x:dim(axis)
    need(type(n) == "number", "the number of tokens is not known", m.x)
    local total = n * #m.group
    local first, past, at
    if m.pick then
      first = need(m.index:scalar(), "the token is not a constant", m.index)
      if first < 0 then first = first + total end
      past, at = first + 1, m.axis
    else
      local from, to = m.starts:constant(), m.ends:constant()
      need(from and to and #from == 1 and #to == 1, "the slice is not one constant range", m.starts)
      need(not m.steps or m.steps:scalar() == 1, "the step is not 1", m.steps)
      first, past = from[1], math.min(to[1], total)
      if first < 0 then first = math.max(first + total, 0) end
      if past < 0 then past = past + total end
      at = m.axes and need(m.axes:scalar(), "the axis is not a constant", m.axes) or 0
    end
    need(axes.from_front(at, ndim) == axis, "wrong axis of the Gather", m.gather)
    need(0 <= first and first < past and past <= total, "there are no such tokens", m.x)
    need(past - first < n, "the result is as large as a share", m.x)
    m.count, m.owner, m.at = past - first, math.floor(first / n), axis
    m.offset = first - m.owner * n
    need(m.offset + m.count <= n, "the tokens lie on two ranks", m.x)
  end,

  rewrite = function(op, m)
    local own = op.Slice(m.x, {m.offset}, {m.offset + m.count}, {m.at})
    local rows = shard.gather(op, own, m.rank, m.group, m.at)
    if not m.pick then
      return op.Slice(rows, {m.owner * m.count}, {(m.owner + 1) * m.count}, {m.at})
    end
    return op.Gather{rows, m.index:rank() == 0 and m.owner or {m.owner}, axis = m.at}
  end,

  examples = {
    { "the last token", [[
        (float[1,4,8] x) => (float[1,1,8] y)
          <int64[1] start = {-1}, int64[1] stop = {9223372036854775807}, int64[1] axis = {1}> {
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          y = Slice(g, start, stop, axis)
        }]],
      [[from = Constant <value = int64[1] {3}> ()
        to = Constant <value = int64[1] {4}> ()
        axis2 = Constant <value = int64[1] {1}> ()
        own = Slice(x, from, to, axis2)
        rows = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (own)
        at = Constant <value = int64[1] {1}> ()
        past = Constant <value = int64[1] {2}> ()
        y = Slice(rows, at, past, axis2)]] },
    { "one token by its number", [[
        (float[1,4,8] x) => (float[1,8] y) <int64 sixth = {5}> {
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          y = Gather <axis = 1> (g, sixth)
        }]],
      [[from = Constant <value = int64[1] {1}> ()
        to = Constant <value = int64[1] {2}> ()
        axis = Constant <value = int64[1] {1}> ()
        own = Slice(x, from, to, axis)
        rows = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (own)
        owner = Constant <value = int64 {1}> ()
        y = Gather <axis = 1> (rows, owner)]] },
    { "tokens of two ranks", [[
        (float[1,4,8] x) => (float[1,2,8] y) <int64[1] start = {3}, int64[1] stop = {5}, int64[1] axis = {1}> {
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          y = Slice(g, start, stop, axis)
        }]],
      rejected = "the tokens lie on two ranks" },
    { "columns", [[
        (float[1,4,8] x) => (float[1,8,1] y) <int64[1] start = {3}, int64[1] stop = {4}, int64[1] axis = {2}> {
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          y = Slice(g, start, stop, axis)
        }]],
      rejected = "wrong axis of the Gather" },
    { "a token that is known at run time", [[
        (float[1,4,8] x, int64 t) => (float[1,8] y) {
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          y = Gather <axis = 1> (g, t)
        }]],
      rejected = "the token is not a constant" },
    { "a gather that does not say its axis", [[
        (float[2,8] x) => (float[1,8] y) <int64[1] from = {0}, int64[1] to = {1}> {
          g = tensor_cast.all_gather <rank = 0, rank_group = [0,1]> (x)
          y = Slice(g, from, to, from)
        }]],
      rejected = "the gather does not say its axis or its ranks" },
    { "or its ranks", [[
        (float[2,8] x) => (float[1,8] y) <int64[1] from = {0}, int64[1] to = {1}> {
          g = tensor_cast.all_gather <dim = 0> (x)
          y = Slice(g, from, to, from)
        }]],
      rejected = "the gather does not say its axis or its ranks" },
  },
}
