--- Compute the linear layers of one activation as one layer.

-- For each kind of layer: its inputs in order, the axis of the weight that holds the columns of the result, and the
-- attributes in which layers must agree.
local KINDS = {
  MatMul                   = { columns = 1, "x", "w", attrs = {} },
  Gemm                     = { columns = 1, "x", "w", "bias", attrs = {"alpha", "beta", "transA", "transB"} },
  Linear                   = { columns = 0, "x", "w", "bias", attrs = {} },
  QLinearMatMul            = { columns = 1, "x", "x_scale", "x_offset", "w", "w_scale", "w_offset",
                               "y_scale", "y_offset", attrs = {} },
  MatMulNBits              = { columns = 0, "x", "w", "w_scale", "w_offset", "order", "bias",
                               attrs = {"K", "bits", "block_size", "accuracy_level", "weight_prepacked"} },
  static_quant_linear      = { columns = 1, "x", "w", "w_scale", "w_offset", "x_scale", "x_offset", "bias",
                               attrs = {"out_dtype"} },
  static_quant_linear_int4 = { columns = 1, "x", "w", "w_scale", "w_offset", "x_scale", "x_offset", "bias",
                               attrs = {"out_dtype"} },
  fp8_linear               = { columns = 1, "x", "w", "x_scale", "w_scale", "bias", attrs = {"out_dtype"} },
  mxfp4_linear             = { columns = 1, "x", "w", "x_scale", "w_scale", "bias",
                               attrs = {"out_dtype", "group_size"} },
}

-- The attributes of a layer that its kind lists; it must have no others, except N, which grows.
local function said(m)
  local attrs, values, known = m.layer.attrs, {}, { N = m.kind == "MatMulNBits" }
  for i, name in ipairs(KINDS[m.kind].attrs) do
    known[name] = true
    values[i] = attrs[name] or false
  end
  for _, name in ipairs(m.layer.attribute_names) do
    need(known[name], "the meaning of '" .. name .. "' for a merged layer is unknown", m.layer)
  end
  return values
end

-- The number of columns of the layer, as its weight shows it.
local function width(m)
  if m.kind == "MatMulNBits" then return m.layer.attrs.N end
  need(m.w:rank() == 2, "the weight is not a matrix", m.w)
  local columns = m.kind == "Gemm" and m.layer.attrs.transB ~= 0 and 0 or KINDS[m.kind].columns
  local size = m.w:dim(columns)
  return need(type(size) == "number" and size, "the number of columns is unknown", m.w), columns
end

-- The biases or scales of all layers as one; they have one number for each column.
local function along_columns(op, ms, slot, widths)
  local first = ms[1][slot]
  local rank = need(first:rank(), "the rank of the " .. slot .. " is unknown", first)
  local blocks = ms[1].kind == "MatMulNBits"
  local parts = {}
  for i, m in ipairs(ms) do
    local part = m[slot]
    need(part.dtype == first.dtype and part:rank() == rank, "the layers differ in type or rank of the " .. slot, part)
    if not blocks then
      need(rank <= 2 and part:dim(-1) == widths[i], "the " .. slot .. " is not along the columns", part)
      need(rank == 1 or slot ~= "bias", "the bias is not a vector", part)
      need(rank == 1 or part:dim(0) == first:dim(0), "the groups of rows differ", part)
      need(m.kind ~= "mxfp4_linear" or slot == "bias" or part.shape == first.shape, "the scales differ in shape", part)
    end
    parts[i] = part
  end
  return op.Concat{parts, axis = blocks and 0 or rank - 1}
end

local function is_for_all(m, slot)
  local value = m[slot]
  return slot ~= "bias" and m.kind ~= "MatMulNBits" and
    (value:rank() == 0 or (value:rank() == 1 and value:dim(0) == 1))
end

-- The scale or offset for the whole weight that all layers have in common.
local function for_all(ms, slot)
  local first = ms[1][slot]
  for _, m in ipairs(ms) do
    local part = m[slot]
    need(part.dtype == first.dtype and is_for_all(m, slot), "the layers differ in type or rank of the " .. slot, part)
    local same = part == first or (part:scalar() ~= nil and part:scalar() == first:scalar())
    need(same or m.options.loose_scales, "the layers differ in the " .. slot, part)
    if not same then assume("the scales of the first layer hold for the others", part) end
  end
  return first
end

return rule {
  doc = [[
    linear(x, w1), linear(x, w2), ...   =>   Split(linear(x, [w1 w2 ...]))    any number of layers of one kind

    Kinds: MatMul, Gemm, Linear, QLinearMatMul, MatMulNBits and the quantized linears of tensor_cast. Biases, scales and
    offsets for each column are concatenated like the weights. A scale for the whole weight is kept if all layers have
    the same; the option loose_scales keeps the first one even if the others differ, which changes results. If one layer
    of a group cannot be merged with the others, none is.]],
  phase = "linear",
  options = { loose_scales = false },

  match = function(op, x, w, bias, w_scale, w_offset, x_scale, x_offset, y_scale, y_offset, order)
    local cast = op.tensor_cast
    local quantized = {x, w, w_scale, maybe(w_offset), maybe(x_scale), maybe(x_offset), maybe(bias), attrs = any}
    local scaled = {x, w, x_scale, w_scale, maybe(bias), attrs = any}
    return either(
      op.MatMul(x, w):as "layer",
      op.Gemm{x, w, maybe(bias), attrs = any}:as "layer",
      op.ruleengine.Linear{x, w, maybe(bias)}:as "layer",
      op.QLinearMatMul(x, x_scale, x_offset, w, w_scale, w_offset, y_scale, y_offset):as "layer",
      op["com.microsoft"].MatMulNBits{x, w, w_scale, maybe(w_offset), maybe(order), maybe(bias),
        attrs = any}:as "layer",
      cast.static_quant_linear(quantized):as "layer",
      cast.static_quant_linear_int4(quantized):as "layer",
      cast.fp8_linear(scaled):as "layer",
      cast.mxfp4_linear(scaled):as "layer")
  end,

  where = function(m)
    m.kind = m.layer.op
    local rank = m.w:rank()
    need(rank == nil or rank == 2 or m.kind == "MatMulNBits", "the weight is not a matrix", m.w)
    need(not m.order, "the rows of the weight are permuted", m.order)
    m.said = said(m)
    need(m.kind ~= "MatMulNBits" or m.layer.attrs.weight_prepacked == 0, "the weight is packed for a specific device",
      m.w)
  end,

  together = function(m)
    return m.kind, m.x, m.w.dtype, m.x_scale, m.x_offset, m.y_scale, m.y_offset, m.said
  end,

  rewrite = function(op, ms)
    local first = ms[1]
    local widths, total, columns = {}, 0
    for i, m in ipairs(ms) do
      widths[i], columns = width(m)
      total = total + widths[i]
    end

    local merged = {}
    for _, slot in ipairs{"bias", "w_scale", "w_offset"} do
      for _, m in ipairs(ms) do
        need((m[slot] == nil) == (first[slot] == nil), "only some layers have a " .. slot, m.layer)
      end
      if first[slot] then
        merged[slot] = is_for_all(first, slot) and for_all(ms, slot) or along_columns(op, ms, slot, widths)
      end
    end
    merged.w = op.Concat{ms:all "w", axis = columns or 0}

    local inputs, slots = {}, KINDS[first.kind]
    for i, slot in ipairs(slots) do inputs[i] = merged[slot] or first[slot] end
    if first.kind == "MatMulNBits" then inputs.N = total end
    return op.Split{first.layer:with(inputs), widths, axis = -1, outputs = #ms}
  end,

  examples = {
    { "products", [[
        (float[B,5,2] x) => (float[B,5,1] y0, float[B,5,2] y1)
        <float[2,1] w0 = {1,2}, float[2,2] w1 = {3,4,5,6}> {
          y0 = MatMul(x, w0)
          y1 = MatMul(x, w1)
        }]],
      [[w = Constant <value = float[2,3] {1,3,4,2,5,6}> ()
        y = MatMul(x, w)
        s = Constant <value = int64[2] {1,2}> ()
        y0, y1 = Split <axis = -1> (y, s)]] },
    { "Gemm with transposed weights", [[
        (float[5,2] x) => (float[5,1] y0, float[5,2] y1)
        <float[1,2] w0 = {1,2}, float[2,2] w1 = {3,4,5,6}, float[1] b0 = {1}, float[2] b1 = {2,3}> {
          y0 = Gemm <transB = 1> (x, w0, b0)
          y1 = Gemm <transB = 1> (x, w1, b1)
        }]],
      [[w = Constant <value = float[3,2] {1,2,3,4,5,6}> ()
        b = Constant <value = float[3] {1,2,3}> ()
        y = Gemm <transB = 1> (x, w, b)
        s = Constant <value = int64[2] {1,2}> ()
        y0, y1 = Split <axis = -1> (y, s)]] },
    { "four bits, written or by default", [[
        (float[3,16] x, uint8[1,1,8] w0, uint8[2,1,8] w1, float[1] s0, float[2] s1) => (float[3,1] y0, float[3,2] y1) {
          y0 = com.microsoft.MatMulNBits <K = 16, N = 1, bits = 4, block_size = 16> (x, w0, s0)
          y1 = com.microsoft.MatMulNBits <K = 16, N = 2, block_size = 16> (x, w1, s1)
        }]],
      [[w = Concat <axis = 0> (w0, w1)
        s = Concat <axis = 0> (s0, s1)
        y = com.microsoft.MatMulNBits <K = 16, N = 3, bits = 4, block_size = 16> (x, w, s)
        widths = Constant <value = int64[2] {1,2}> ()
        y0, y1 = Split <axis = -1> (y, widths)]] },
    { "a scale of one element is one for the whole weight", [[
        (int8[5,2] x, float xs) => (float[5,1] y0, float[5,2] y1)
        <int8[2,1] w0 = {1,2}, int8[2,2] w1 = {3,4,5,6}, float[1] s0 = {0.5}, float[2] s1 = {0.25,0.125}> {
          y0 = tensor_cast.static_quant_linear(x, w0, s0, "", xs)
          y1 = tensor_cast.static_quant_linear(x, w1, s1, "", xs)
        }]],
      rejected = "the layers differ in type or rank of the w_scale" },
    { "one bias and none", [[
        (float[5,2] x, float[2,2] w0, float[2,2] w1, float[2] b) => (float[5,2] y0, float[5,2] y1) {
          y0 = Gemm(x, w0, b)
          y1 = Gemm(x, w1)
        }]],
      rejected = "only some layers have a bias" },
  },
}
