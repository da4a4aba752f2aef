--- Windows of a map, as Swin cuts it: what ShiftedWindowAttention is made of, and functions that build in ops of the
--- standard.
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

--- How many channels m's ShiftedWindowAttention has. Ends the match where it is not one of windows and heads, or the bias,
--- traced or not, not one of that window.
function window.need_block(m)
  need(m.H, "num_heads is missing", m.x)
  window.need_size(m.window_size, m.x)
  local n = m.window_size[1] * m.window_size[2]
  need(m.N == nil or m.N == n, "the bias is not of this window", m.index)
  for axis, size in ipairs(m.table and {} or {1, m.H, n, n}) do
    need(m.bias:rank() == 4 and m.bias:dim(axis - 1) == size, "the bias is not of this window", m.bias)
  end
  need(#m.shift == 2 and m.shift[1] >= 0 and m.shift[2] >= 0, "shift_size is not two numbers from 0 on", m.x)
  need((m.x:rank() or 4) == 4, "x is not [batch, height, width, channels]", m.x)
  local C = m.qkv_w:rank() == 2 and m.qkv_w:dim(1)
  need(type(C) == "number" and C % m.H == 0, "the channels are no multiple of num_heads", m.x)
  return C
end

--- The table and the index of the bias; each element has a row of its own where they are not traced.
function window.table_and_index(op, m)
  if m.table then return m.table, m.index end
  local function whole(number) return op.Constant{value_int = number} end
  local rows = (m.window_size[1] * m.window_size[2]) ^ 2
  local table = op.Reshape(op.Transpose{m.bias, perm = {0, 2, 3, 1}}, {rows, m.H})
  return table, op.Range(whole(0), whole(rows), whole(1))
end

--- Builds the parts of m's ShiftedWindowAttention, with this bias of the projection, with queries and keys as `turned`
--- gives them, and with this table and index.
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

--- What `spatial` says of the map that windows of such a side cover, when all of it is numbers: its size, the size
--- with padding, the effective shift, and the number of windows.
function window.map(spatial, side)
  local dims, unknown = spatial:dims(), "the size of the map is not known"
  need(dims and #dims == 7, unknown, spatial)
  for i = 2, 7 do need(type(dims[i]) == "number", unknown, spatial) end
  local count = dims[4] / side[1] * (dims[5] / side[2])
  need(dims[4] % side[1] == 0 and dims[5] % side[2] == 0 and count > 0, "it is no map of such windows", spatial)
  need(dims[6] >= 0 and dims[7] >= 0, "the shift is negative", spatial)
  return { batch = dims[1], size = { dims[2], dims[3] }, padded = { dims[4], dims[5] }, shift = { dims[6], dims[7] },
    count = count }
end

--- Ends the match where v, [windows,...], has not the windows of the map, as far as numbers say; `positions` of its axis are a window's.
function window.need_windows(v, map, side, positions)
  local count, n = v:dim(0), v:dim(positions)
  need(type(count) ~= "number" or type(map.batch) ~= "number" or count == map.batch * map.count,
    "it has not the windows of the map", v)
  need(type(n) ~= "number" or n == side[1] * side[2], "it has not the positions of a window", v)
end

--- x, [batch,height,width,channels], `size` the second and third of them, rolled by so many steps along each.
function window.rolled(op, x, size, steps)
  for axis = 1, 2 do
    local n = size[axis]
    local step = steps[axis] % n
    if step ~= 0 then
      x = op.Concat{op.Slice(x, {n - step}, {n}, {axis}), op.Slice(x, {0}, {n - step}, {axis}), axis = axis}
    end
  end
  return x
end

-- How long the first axis of x becomes, `ratio` times as long. As a number where it is known and channels are not: should
-- there be none of them, a Reshape could not work -1 out.
local function first(x, ratio, channels)
  local count = x:dim(0)
  return type(channels) ~= "number" and type(count) == "number" and count * ratio or -1
end

--- The windows [batch * windows, height * width of one, channels] of a map that they cover.
function window.cut(op, x, size, side, channels)
  local count = first(x, size[1] / side[1] * (size[2] / side[2]), channels)
  x = op.Reshape(x, {0, size[1] / side[1], side[1], size[2] / side[2], side[2], channels})
  return op.Reshape(op.Transpose{x, perm = {0, 1, 3, 2, 4, 5}}, {count, side[1] * side[2], channels})
end

--- And the way back.
function window.joined(op, windows, size, side, channels)
  local rows, columns = size[1] / side[1], size[2] / side[2]
  local batch = first(windows, 1 / (rows * columns), channels)
  local x = op.Reshape(windows, {batch, rows, columns, side[1], side[2], channels})
  return op.Reshape(op.Transpose{x, perm = {0, 1, 3, 2, 4, 5}}, {batch, size[1], size[2], channels})
end

--- The bias [1,heads,N,N] that the table, [_,heads], has for N positions.
function window.bias(op, table, index, side)
  local n = side[1] * side[2]
  local rows = op.Reshape(op.Gather{table, op.Reshape(index, {-1}), axis = 0}, {n, n, -1})
  return op.Unsqueeze(op.Transpose{rows, perm = {2, 0, 1}}, {0})
end

--- From where the roll brought each position of each window: a list, window after window; nil where nothing is rolled.
--- (The edge of the last window parts regions as well, but no window lies across it.)
function window.regions(map, side)
  local size, shift = map.padded, map.shift
  if shift[1] + shift[2] == 0 then return nil end
  need(size[1] * size[2] <= 2 ^ 20, "the map is too large to write its seams down")
  local list = {}
  for top = 0, size[1] - side[1], side[1] do
    for left = 0, size[2] - side[2], side[2] do
      for y = top, top + side[1] - 1 do
        local row = y >= size[1] - shift[1] and 2 or 0
        for x = left, left + side[2] - 1 do
          list[#list + 1] = row + (x >= size[2] - shift[2] and 1 or 0)
        end
      end
    end
  end
  return list
end

return window
