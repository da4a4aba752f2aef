--- Windows of a map, as Swin cuts it: the parts of ShiftedWindowAttention, and
--- functions that build in ops of ONNX.
local linear = lib "linear"

local window = {}

--- The bias of a table, [_,H], and an index: the op, or Gather, Reshape, Transpose, Unsqueeze.
function window.traced(op, table, index, side, H)
  local function gathered(places)
    return function()
      index:shape(places)
      index:type "int64"
      local rows = op.Reshape{op.Gather{table, index, axis = 0}, any, allowzero = any}:shape "N N H"
      return op.Unsqueeze(op.Transpose{rows, perm = {2, 0, 1}}, {0})
    end
  end
  table:shape "_ H"
  return either(op.ruleengine.RelativePositionBias{table, index, window_size = side}, gathered "_", gathered "N N")
end

--- How many channels m's ShiftedWindowAttention has. Ends the match if
--- window_size or num_heads is not valid, or the bias, traced or not, does not
--- fit the window.
function window.need_block(m)
  need(m.H, "num_heads is missing", m.x)
  window.need_size(m.window_size, m.x)
  local n = m.window_size[1] * m.window_size[2]
  need(m.N == nil or m.N == n, "the bias does not fit the window", m.index)
  for axis, size in ipairs(m.table and {} or {1, m.H, n, n}) do
    need(m.bias:rank() == 4 and m.bias:dim(axis - 1) == size, "the bias does not fit the window", m.bias)
  end
  need(#m.shift == 2 and m.shift[1] >= 0 and m.shift[2] >= 0, "shift_size is not two numbers of 0 or more", m.x)
  need((m.x:rank() or 4) == 4, "x is not [batch, height, width, channels]", m.x)
  local C = m.qkv_w:rank() == 2 and m.qkv_w:dim(1)
  need(type(C) == "number" and C % m.H == 0, "the number of channels is not a multiple of num_heads", m.x)
  for _, w in ipairs{m.proj_w, m.proj_b} do
    need(w:dim(0) == C, "the output projection may change the number of channels", w)
  end
  return C
end

--- The table and the index of the bias; if they are not traced, each element of
--- the bias has a row of its own.
function window.table_and_index(op, m)
  if m.table then return m.table, m.index end
  local function whole(number) return op.Constant{value_int = number} end
  local rows = (m.window_size[1] * m.window_size[2]) ^ 2
  local table = op.Reshape(op.Transpose{m.bias, perm = {0, 2, 3, 1}}, {rows, m.H})
  return table, op.Range(whole(0), whole(rows), whole(1))
end

--- Builds the parts of m's ShiftedWindowAttention, with this bias of the
--- projection, this table and this index; `turned` is applied to queries and
--- keys.
function window.parts(op, m, qkv_b, turned, table, index)
  local H, D = m.H, m.C / m.H
  local windows, spatial = op.ruleengine.SwinWindowPartition{m.x,
    window_size = m.window_size, shift_size = m.shift, outputs = 2}
  local q, k, v = op.ruleengine.MHAInProjection{windows, windows, windows, m.qkv_w, qkv_b,
    num_heads = H, head_dim = D, outputs = 3}
  q, k = turned(q, k)
  local y = op.ruleengine.SwinAttention{q, k, v, table, index, spatial,
    window_size = m.window_size, num_heads = H, head_dim = D, attention_dropout = m.dropout}
  return op.ruleengine.SwinWindowReverse{linear.apply(op, y, m.proj_w, m.proj_b), spatial, window_size = m.window_size}
end

function window.need_size(size, v)
  need(size and #size == 2 and size[1] > 0 and size[2] > 0, "window_size is not two positive numbers", v)
end

return window
