--- The fused op over heads: its pattern, and helpers for rules that replace it
--- by ops of other domains.
local causal = lib "causal"
local elements = lib "elements"
local heads = lib "heads"

local fused = {}

--- The fused op over heads. q is [B,H,S,D], k [B,G,L,D], v [B,_,L,E]; p holds
--- the variables of its inputs and attributes. Without p.mask, it matches only
--- without a mask.
function fused.attention(op, p)
  p.q:shape "_ _ S D"
  p.k:shape "_ G L D"
  p.v:shape "_ _ _ E"
  return op.ruleengine.ScaledDotProductAttention{p.q, p.k, p.v, p.mask and maybe(p.mask),
    num_heads = p.H, head_dim = any, scale = p.scale, is_causal = p.causal, softcap = p.softcap,
    guarded = p.guarded, dropout_p = any}:as "call"
end

local function is_split(perm)
  return perm and #perm == 4 and perm[1] == 0 and perm[2] == 2 and perm[3] == 1 and perm[4] == 3
end

--- x, heads [B,H,S,D], before they were moved in front of the tokens:
--- [B,S,H,D]. nil if they were not.
function fused.tokens(x)
  local made = x.producer
  return made and made.op == "Transpose" and is_split(made.attrs.perm) and made.inputs[1] or nil
end

--- Whether all readers of y, heads [B,H,S,D], move the heads behind the tokens.
function fused.is_joined(y)
  if y.is_output then return false end
  for _, reader in ipairs(y.users) do
    if reader.op ~= "Transpose" or not is_split(reader.attrs.perm) then return false end
  end
  return #y.users > 0
end

--- Ends the match of `attention` if an op that takes `values` with heads behind
--- tokens would need Transposes that the graph does not have. On GPUs they cost
--- less than such an op saves.
function fused.need_no_moves(m, values)
  if m.options.gpu then return end
  local moves = fused.is_joined(m.call.outputs[1]) and 0 or 1
  for _, x in ipairs(values) do
    if not fused.tokens(x) then moves = moves + 1 end
  end
  need(moves == 0, "costs more than it saves: " .. moves .. (moves == 1 and " Transpose" or " Transposes"), m.q)
end

--- Whether all heads of `attention`, whose numbers and sizes are known, are
--- behind the tokens in the graph.
function fused.is_behind(m)
  return heads.positive(m.H) and heads.positive(m.G) and heads.positive(m.D) and heads.positive(m.E)
    and fused.tokens(m.q) and fused.tokens(m.k) and fused.tokens(m.v) and fused.is_joined(m.call.outputs[1]) or false
end

--- The number of queries or keys of x, [B,H,S,D], as a list.
function fused.length(op, x)
  local tokens = fused.tokens(x)
  if tokens then return op.Shape{tokens, start = 1, ["end"] = 2} end
  return op.Shape{x, start = 2, ["end"] = 3}
end

--- x, heads [B,H,S,width], as [B,S,H*width].
function fused.rows(op, x, H, width)
  local tokens = fused.tokens(x)
  return tokens and op.Reshape(tokens, {0, 0, H * width}) or heads.merged(op, x, H, width)
end

--- Ends the match of `attention` if the number of heads is unknown, or its
--- inputs have another number of heads.
function fused.need_heads(m)
  need(heads.positive(m.H), "num_heads is not a positive number", m.q)
  need(type(m.G) == "number" and m.H % m.G == 0, "the heads are not known", m.k)
  local queries, values = m.q:dim(1), m.v:dim(1)
  need(type(queries) ~= "number" or queries == m.H, "num_heads is not the number of heads of the queries", m.q)
  need(type(values) ~= "number" or values == m.G, "keys and values have different numbers of heads", m.v)
end

--- The same, and ends the match if the size of the heads is unknown.
function fused.need_widths(m)
  fused.need_heads(m)
  need(heads.positive(m.D) and heads.positive(m.E), "the size of the heads is not known", m.q)
end

--- What `attention` hides: `causal`, and by `mask`. A causal mask becomes `causal`, and is `found`, if `takes(found)`.
function fused.hides(op, m, takes)
  local hides = {causal = m.causal ~= 0, mask = m.mask}
  local found = m.mask and m.causal == 0 and m.S == m.L and causal.of(op, m.mask, m.S)
  if not found or not takes(found) then return hides end
  return {causal = true, mask = not found.alone and m.mask or nil, found = found}
end

--- Ends the match of `attention` if an op that does not broadcast might refuse
--- its sizes: lengths of 0, or a mask that may make the scores larger. A mask
--- does so if it has more batches or rows than the scores, and these have one.
--- It cannot have more keys, since there are as many values. A computed number
--- of rows, as exporters slice them from a causal mask, is usually the number
--- of queries, but that is not proven: the result is whether the mask has such
--- rows.
function fused.need_sizes(m)
  need(m.S ~= 0 and m.L ~= 0, "there are no queries or no keys", m.q)
  local mask, cut = m.hides.mask
  if not mask then return nil end
  local rank, sizes = need(mask:rank(), "the rank of the mask is unknown", mask), {m.L, m.S, m.H, m.q:dim(0)}
  for i = 2, rank do
    local size, want = mask:dim(-i), sizes[i]
    local several = type(want) == "number" and want ~= 1
    local fits = several or size == 1 or size == want
    local computed = type(size) ~= "number" and (size.computed or size.unknown)
    need(fits or i == 2 and computed, "the mask may be larger than the scores", mask, size, want)
    cut = cut or not fits
  end
  return cut
end

--- The queries; if rows are `cut`, a single query is expanded to the rows of
--- the mask, which may be more.
function fused.queries(op, m, cut)
  if not cut then return m.q end
  return op.Expand(m.q, op.Concat{{1, 1}, op.Shape{m.mask, start = -2, ["end"] = -1}, {1}, axis = 0})
end

--- Whether the mask is a choice between two numbers of which `holds` is true.
function fused.chooses(mask, holds)
  local made = elements.origin(mask).producer
  if not made or made.op ~= "Where" then return false end
  for i = 2, 3 do
    local number = made.inputs[i]:scalar()
    if not (number and holds(number)) then return false end
  end
  return true
end

-- Whether the mask is added alike in float16 and in float: it is -inf, or so
-- near to 0 that the sum keeps the digits of the score.
local function is_exact(mask)
  local function adds(number) return math.abs(number) < 10 or number == -math.huge end
  for _, number in ipairs(mask:constant() or {}) do
    if not adds(number) then return false end
  end
  return mask:constant() ~= nil or fused.chooses(mask, adds)
end

--- The fused op hides a score by a choice, runtimes by a sum: so hidden scores
--- must be finite. It adds a mask in float16, where a low number absorbs digits
--- of the score, -65504 all of them; runtimes keep float between the sum and the
--- softmax. So a row that hides all keys has other probabilities.
function fused.assume_numbers(m)
  local mask, found = m.hides.mask, m.hides.found
  local half = mask and mask.dtype == "float16"
  if half and not is_exact(mask) then assume("each query sees a key that its float16 mask does not hide", mask) end
  if m.hides.causal or mask and mask.dtype == "bool" then assume("no score is NaN or infinite", m.mask or m.q) end
  if found then causal.assume_fill(found, m.mask) end
end

--- The mask as what is added to the scores, with the lengths of queries and
--- keys, as the contrib ops of ONNX Runtime need it.
function fused.bias(op, m)
  local bias = m.hides.mask
  if not bias then return nil end
  local rank = bias:rank()
  -- 0 where the mask keeps, -inf where it hides.
  if bias.dtype == "bool" then bias = op.Log(op.Cast{bias, to = m.q.dtype}) end
  if rank > 1 and bias:dim(-2) == m.S and bias:dim(-1) == m.L then
    return rank == 4 and bias or op.Unsqueeze(bias, rank == 3 and {0} or {0, 1})
  end
  return op.Expand(bias, op.Concat{{1, 1}, fused.length(op, m.q), fused.length(op, m.k), axis = 0})
end

-- With a mask of finite numbers hidden keys have some weight in rows where it
-- hides all keys.
local function is_finite(mask)
  return fused.chooses(mask, function(number) return number > -math.huge and number < math.huge end)
end

--- y, the result of a runtime's op, with zeros for queries for which the mask
--- hides all keys: there runtimes give NaN.
function fused.seen(op, y, m)
  local mask = m.hides.mask
  return mask and m.guarded ~= 0 and not is_finite(mask) and op.Where(op.IsNaN(y), 0, y) or y
end

return fused
