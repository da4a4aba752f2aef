--- Compute whole residual chains on each rank's share of the tokens.
local shard = lib "shard"

-- The sizes of v with this many tokens; at most one other size is unknown.
local function sizes(v, axis, tokens)
  local list = {}
  for i = 1, v:rank() do
    local size = i == axis + 1 and tokens or v:dim(i - 1)
    list[i] = type(size) == "number" and size or -1
  end
  return list
end

-- The number of this rank, the same in all collectives of a chain; nil if the model does not state it.
local function own_rank(chain) return chain.sum.attrs.rank end

-- Its place in the group, from 0.
local function place(chain)
  for i, rank in ipairs(chain.ranks) do
    if rank == own_rank(chain) then return i - 1 end
  end
end

-- The number of tokens in a rank's share of v; those of the last rank may include padding.
local function share_of(chain, v) return math.ceil(v:dim(chain.axes[v]) / #chain.ranks) end

-- x, padded to the number of tokens in all shares of v.
local function padded(op, chain, v, x, axis)
  local missing = share_of(chain, v) * #chain.ranks - v:dim(chain.axes[v])
  if missing == 0 then return x end
  local pads = {}
  for i = 1, 2 * x:rank() do pads[i] = 0 end
  pads[x:rank() + axis + 1] = missing
  return op.Pad(x, pads)
end

-- This rank's share of a value that all ranks have.
local function slice(op, chain, v)
  local axis, n = chain.axes[v], share_of(chain, v)
  local at = place(chain)
  return op.Slice(padded(op, chain, v, v, axis), {at * n}, {(at + 1) * n}, {axis})
end

local function scatter(op, chain, node)
  local x, v = node.inputs[1], node.outputs[1]
  return shard.scatter(op, padded(op, chain, v, x, x.token_axis), sizes(v, chain.axes[v], share_of(chain, v)),
    own_rank(chain), chain.ranks)
end

local function gather(op, chain, v, part)
  local axis = chain.axes[v]
  local whole = shard.gather(op, part, own_rank(chain), chain.ranks, axis)
  local tokens = v:dim(axis)
  return share_of(chain, v) * #chain.ranks == tokens and whole or op.Slice(whole, {0}, {tokens}, {axis})
end

-- The results of a node of the chain on shares, in the order of its outputs.
local function on_shares(op, chain, node, part)
  if node.op == "all_reduce" then return { scatter(op, chain, node) } end
  if node.op == "all_gather" then return { node.inputs[1] } end
  local v = node.outputs[1]
  if node.op == "Reshape" then
    return { op.Reshape(part[node.inputs[1]], sizes(v, chain.axes[v], share_of(chain, v))) }
  end
  local inputs, shares = node.inputs, {}
  for i = 1, #inputs do shares[i] = part[inputs[i]] or inputs[i] end
  return { node:with(shares) }
end

-- Whether anything outside of the chain reads v.
local function leaves(v, inside)
  if v.is_output then return true end
  for _, user in ipairs(v.users) do
    if not inside[user] then return true end
  end
  return false
end

local function share_out(op, chain)
  local part, inside, left = {}, {}, {}
  for _, v in ipairs(chain.entries) do part[v] = slice(op, chain, v) end
  for _, node in ipairs(chain.nodes) do inside[node] = true end
  for _, node in ipairs(chain.nodes) do
    local made = on_shares(op, chain, node, part)
    for i = 1, #node.outputs do
      local v = node.outputs[i]
      if v and chain.axes[v] then
        part[v] = made[i]
        if node.op ~= "all_gather" and leaves(v, inside) then left[#left + 1] = v end
      end
    end
  end
  for _, v in ipairs(left) do v:replace_with(gather(op, chain, v, part[v])) end
end

-- Ends the match if the chain has to stay unchanged. All values on it have as many tokens as its first sum.
local function need_shares(chain, options)
  local sum, ranks = chain.sum.outputs[1], #chain.ranks
  need(not own_rank(chain) or place(chain), "the rank is not one of its group", sum)
  if chain.axes[sum] then
    local tokens = sum:dim(chain.axes[sum])
    need(type(tokens) == "number", "the number of tokens is symbolic; only a fixed one is shared out", sum)
    need(options.uneven or tokens % ranks == 0,
      tokens .. " tokens cannot be shared out evenly among " .. ranks .. " ranks (option `uneven` pads them)", sum)
  end
  local hint = chain.sliceable and " (option `entry` takes slices of inputs and constants)" or ""
  need(not chain.broken, (chain.broken or "") .. hint, chain.culprit)
end

return rule {
  doc = [[
    f(all_reduce(x), all_gather(t), ...)   =>   all_gather(f(reduce_scatter(x), t, ...))

    f is a whole residual chain: all nodes between sums over the ranks that work token by token, such as sums, norms in
    one node or in many, casts, views and quantizers. Norms whose results leave the chain are part of it. Either the
    whole chain is computed on shares or it stays unchanged, if a sum cannot be sharded or a residual has another
    reader. Each rank works on 1/N of the tokens. Only the last form of a value, quantized or not, is gathered.
    Each chain is one transaction. Other inputs of its nodes, such as norm weights, biases and scales, are assumed to be
    the same on all ranks. `entry` lets a chain begin at inputs and constants, which must be the same on all ranks: each
    rank takes its slice, so the collectives must state the rank of the program.
    `uneven` pads the tokens if the ranks do not divide them.]],
  phase = "parallel",
  after = "p3",
  options = { enable = true, entry = false, uneven = false },
  when = function(_, options) return options.enable end,

  pass = function(graph, op, options)
    for _, chain in ipairs(graph:residual_chains{ slices = options.entry }) do
      attempt(chain.sum, function()
        need_shares(chain, options)
        share_out(op, chain)
      end)
    end
  end,

  examples = {
    { "sums and norms of their own", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w, float[8] b) => (float[1,4,8] n, float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          n = LayerNormalization(s, w, b)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          t = Add(s, s2)
          y = LayerNormalization(t, w, b)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n2 = LayerNormalization(s, w, b)
        n = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n2)
        s2 = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x2)
        t = Add(s, s2)
        y2 = LayerNormalization(t, w, b)
        y = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (y2)]] },
    { "a norm with an unnamed result", [[
        (float[1,4,8] x, float[1,2,8] r) => (float[1,4,8] t) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (r)
          "", t = tensor_cast.add_rms_norm2(s, g)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x)
        n, p = tensor_cast.add_rms_norm2(s, r)
        t = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (p)]] },
    { "one token more than the ranks divide", [[
        (float[1,5,8] x, float[1,5,8] x2, float[8] w) => (float[1,5,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          t = Add(s, s2)
          y = RMSNormalization(t, w)
        }]],
      [[one = Constant <value = int64[6] {0,0,0,0,1,0}> ()
        x6 = Pad(x, one)
        s = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (x6)
        z6 = Pad(x2, one)
        s2 = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> (z6)
        t = Add(s, s2)
        n = RMSNormalization(t, w)
        y6 = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (n)
        from = Constant <value = int64[1] {0}> ()
        to = Constant <value = int64[1] {5}> ()
        axis = Constant <value = int64[1] {1}> ()
        y = Slice(y6, from, to, axis)]], options = { uneven = true } },
    { "two of one table, whose other chain breaks", [[
        (float[1,4,8] x, float[1,4,8] x2, float[1,4,8] table, float[8] w)
          => (float[1,4,8] y, float[1,4,8] y2, float[1,4,8] z) {
          s = tensor_cast.all_reduce <rank = 1, rank_group = [0,1]> (x)
          t = Add(s, table)
          y = RMSNormalization(t, w)
          s2 = tensor_cast.all_reduce <rank = 1, rank_group = [0,1]> (x2)
          t2 = Add(s2, table)
          y2 = RMSNormalization(t2, w)
          z = Softmax(t2)
        }]],
      [[from = Constant <value = int64[1] {2}> ()
        to = Constant <value = int64[1] {4}> ()
        axis = Constant <value = int64[1] {1}> ()
        own = Slice(table, from, to, axis)
        s = tensor_cast.reduce_scatter <dim = 1, rank = 1, rank_group = [0,1]> (x)
        t = Add(s, own)
        n = RMSNormalization(t, w)
        y = tensor_cast.all_gather <dim = 1, rank = 1, rank_group = [0,1]> (n)
        s2 = tensor_cast.all_reduce <rank = 1, rank_group = [0,1]> (x2)
        t2 = Add(s2, table)
        y2 = RMSNormalization(t2, w)
        z = Softmax(t2)]],
      options = { entry = true } },
    { "a model that does not say which rank it is", [[
        (float[1,4,W] x, float[W] w) => (float[1,4,2,V] y) <int64[4] heads = {1,4,2,-1}> {
          s = tensor_cast.all_reduce <rank_group = [0,1]> (x)
          n = RMSNormalization(s, w)
          y = Reshape(n, heads)
        }]],
      [[s = tensor_cast.reduce_scatter <dim = 1, rank_group = [0,1]> (x)
        n = RMSNormalization(s, w)
        sizes = Constant <value = int64[4] {1,2,2,-1}> ()
        v = Reshape(n, sizes)
        y = tensor_cast.all_gather <dim = 1, rank_group = [0,1]> (v)]] },
    { "no rank, and a table to slice", [[
        (float[1,4,8] x, float[1,4,8] table, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank_group = [0,1]> (x)
          t = Add(s, table)
          y = RMSNormalization(t, w)
        }]],
      rejected = "the model does not say which rank it is", options = { entry = true } },
    { "a rank that takes no part in the sum", [[
        (float[1,4,8] x, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 2, rank_group = [0,1]> (x)
          y = RMSNormalization(s, w)
        }]],
      rejected = "the rank is not one of its group" },
    { "one token more, without `uneven`", [[
        (float[1,5,8] x, float[8] w) => (float[1,5,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = RMSNormalization(s, w)
        }]],
      rejected = "5 tokens cannot be shared out evenly among 2 ranks (option `uneven` pads them)" },
    { "tokens that have no number", [[
        (float[1,T,8] x, float[8] w) => (float[1,T,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = RMSNormalization(s, w)
        }]],
      rejected = "the number of tokens is symbolic; only a fixed one is shared out" },
    { "a table to slice, without `entry`", [[
        (float[1,4,8] x, float[1,4,8] table, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          t = Add(s, table)
          y = RMSNormalization(t, w)
        }]],
      rejected = "it is whole on every rank (option `entry` takes slices of inputs and constants)" },
    { "sums that say different ranks", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w) => (float[1,4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          s2 = tensor_cast.all_reduce <rank = 1, rank_group = [0,1]> (x2)
          t = Add(s, s2)
          y = RMSNormalization(t, w)
        }]],
      rejected = "its rank is 1, that of the chain 0" },
    { "a residual that something else reads", [[
        (float[1,4,8] x, float[1,4,8] x2, float[8] w) => (float[1,4,8] y, float[1,4,8] z) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
          t = Add(s, s2)
          y = RMSNormalization(t, w)
          z = Softmax(t)
        }]],
      rejected = "Softmax node of output 'z' reads the residual too" },
  },
}
