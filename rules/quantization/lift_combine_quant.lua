--- Quantize before views, and once.
local axes = lib "axes"

-- One pattern for each kind of quantizer. The attributes of both quantizers are the same variables; the order of inputs
-- distinguishes the patterns.
local function quantizers(op, x, p, tag, is_twin)
  local cast = op.tensor_cast
  local one, three = is_twin and {{1}} or nil, is_twin and {{1, 2, 3}} or nil
  return {
    cast.quantize{x, p.scale, maybe(p.offset), out_dtype = p.dtype, perms = three}:as(tag),
    cast.dynamic_quantize_symmetric{x, dims = p.dims, out_dtype = p.dtype, outputs = any, perms = one}:as(tag),
    cast.dynamic_quantize_asymmetric{x, dims = p.dims, out_dtype = p.dtype, outputs = any, perms = one}:as(tag),
    cast.dynamic_quantize_mxfp4{x, group_size = p.group, outputs = any, perms = one}:as(tag),
    op.DynamicQuantizeLinear{x, outputs = any, perms = one}:as(tag),
    op.QuantizeLinear{x, p.scale, maybe(p.offset), axis = p.axis, block_size = p.block, output_dtype = p.dtype,
      saturate = p.saturate, precision = p.precision, perms = three}:as(tag),
  }
end

local function view(op, x, tag) return op.view{x, inputs = any}:as(tag) end

local function has_one_element(v)
  return not v or v:rank() == 0 or (v:rank() == 1 and v:dim(0) == 1)
end

-- What one scale of the quantizer covers: "all" of a tensor, "rows" (the last axis), or one "axis", counted from the
-- front.
local function along(m, rank)
  local kind = m.quantizer.op
  if kind == "DynamicQuantizeLinear" then return "all" end
  if kind == "dynamic_quantize_mxfp4" then return "rows" end
  if kind:sub(1, 7) == "dynamic" then
    if #m.dims == 0 then return "all" end
    need(#m.dims == 1 and axes.from_front(m.dims[1], rank) == rank - 1,
      "the quantizer does not work along the last axis", m.quantizer)
    return "rows"
  end
  if has_one_element(m.scale) and has_one_element(m.offset) then return "all" end
  for _, v in ipairs{m.scale, m.offset} do
    need(v:rank() and v:rank() <= 1, "the scale is not a vector", v)
  end
  if kind == "quantize" then return "rows" end
  need(m.block == 0, "the quantizer works on blocks", m.quantizer)
  local axis = axes.from_front(m.axis, rank)
  return axis == rank - 1 and "rows" or "axis", axis
end

-- Whether quantizing `way` gives the same on x as on the views of x.
local function passes(way, axis, x, viewed)
  if way == "all" then return true end
  if not x:rank() then return false end
  if way == "rows" then return x:rank() > 0 and x:dim(-1) == viewed:dim(-1) end
  if x:rank() <= axis then return false end
  for i = 0, axis do
    if x:dim(i) ~= viewed:dim(i) then return false end
  end
  return true
end

-- Rejects if ONNX Runtime does not have this view for the quantized type: it has none for types of less than a byte,
-- and only Reshape for 8-bit floats.
local function need_views(m)
  if m.quantizer.op ~= "QuantizeLinear" then return end
  local made = m.quantizer.outputs[1]
  if made:type("int8", "uint8", "int16", "uint16") then return end
  need(tostring(made.dtype):find "^float8", "no runtime has views of this type", made)
  for _, v in ipairs(m.inner) do need(v.op == "Reshape", "no runtime has this view for this type", made) end
  need(m.last.op == "Reshape", "no runtime has this view for this type", made)
end

-- Rejects if a runtime fuses the quantizer with its reader: an op between DequantizeLinear and QuantizeLinear is
-- computed on integers, and so is a product after DynamicQuantizeLinear. A view between them would prevent that.
local function need_parts(m)
  local readers = m.quantizer.outputs[1].users
  for _, reader in ipairs(readers) do
    local pair = reader.op == "DequantizeLinear" and #reader.outputs[1].users > 0
    need(not pair, "a view would separate the quantizer from its op", reader)
    need(reader.op ~= "MatMulInteger" or #readers > 1, "a view would separate the quantizer from its product", reader)
  end
end

-- Rejects if a scale of one element gives a scalar an axis, on one side of the views only.
local function need_axes(m, source, rank)
  for _, v in ipairs{m.scale, m.offset} do
    local has_axes = source:rank() and source:rank() > 0 and rank > 0
    need(v:rank() == 0 or has_axes, "a scalar gets an axis from its scale", v)
  end
end

local function is_read(v) return v and (v.is_output or #v.users > 0) end

local function sizes(v)
  local list = {}
  for i = 1, need(v:rank(), "the rank is unknown", v) do list[i] = v:dim(i - 1) end
  return list
end

-- The results of the twin. It is built with more outputs if it has too few for all readers.
local function shared(m)
  local old, new = m.quantizer.outputs, m.twin.outputs
  local count, enough = math.max(#old, #new), true
  for i = 2, #old do enough = enough and (new[i] or not is_read(old[i])) end
  if enough then return new end
  local all = { m.twin:with{ outputs = count } }
  for i = 1, count do
    if new[i] then new[i]:replace_with(all[i]) end
  end
  return all
end

return rule {
  doc = [[
    quantize(view(x))          =>   view(quantize(x))    views without other readers: Reshape, Flatten, Squeeze,
                                                    Unsqueeze
    quantize(x), quantize(x)   =>   one of them          same scale, offset and attributes

    A quantizer along the last axis (a scale for each channel or each row, blocks) only passes views that keep that
    axis; scales of rows then get the shape that their readers expect. Together both rewrites leave one quantizer
    directly after the producer of x.]],
  phase = "quantization",

  match = function(op, x, scale, offset, dtype, dims, group, axis, block, saturate, precision)
    local p = { scale = scale, offset = offset, dtype = dtype, dims = dims, group = group, axis = axis, block = block,
      saturate = saturate, precision = precision }
    local viewed = view(op, many(function(s) return view(op, s, "inner") end, x), "last")
    local branches = quantizers(op, viewed, p, "quantizer")
    local seconds, twins = quantizers(op, x, p, "quantizer"), quantizers(op, x, p, "twin", true)
    for i = 1, #twins do
      branches[#branches + 1] = function() context(twins[i]); return seconds[i] end
    end
    return either(unpack(branches))
  end,

  where = function(m)
    if m.twin then return end
    local viewed = m.last.outputs[1]
    local rank = need(viewed:rank(), "the rank of the view is unknown", viewed)
    local way, at = along(m, rank)
    m.rows = way == "rows"
    m.from_front = at
    -- As many views as possible, from the last one.
    local source
    m.kept = 0
    while m.kept <= #m.inner do
      source = m.kept < #m.inner and m.inner[m.kept + 1].inputs[1] or m.last.inputs[1]
      if passes(way, at, source, viewed) then break end
      m.kept = m.kept + 1
    end
    need(m.kept <= #m.inner, "the views change the axis of the quantizer", viewed)
    need(not source.producer or source.producer.op ~= "DequantizeLinear", "the views are already on quantized values",
      source)
    need_axes(m, source, rank)
    need_views(m)
    need_parts(m)
  end,

  rewrite = function(op, m)
    local old, new = m.quantizer.outputs
    if m.twin then
      new = shared(m)
    else
      local views = {}
      for i = m.kept + 1, #m.inner do views[#views + 1] = m.inner[i] end
      views[#views + 1] = m.last
      local changed = { views[1].inputs[1] }
      -- The last axis stays the last one; other axes keep their place from the front.
      if m.quantizer.op == "QuantizeLinear" and m.from_front then changed.axis = m.rows and -1 or m.from_front end
      if m.rows and m.dims then changed.dims = {-1} end
      new = { m.quantizer:with(changed) }
      for _, v in ipairs(views) do new[1] = v:with(new[1]) end
      for i = 2, #new do
        if m.rows and old[i] and new[i].shape ~= old[i].shape then new[i] = op.Reshape(new[i], sizes(old[i])) end
      end
    end
    for i = 2, #old do
      if is_read(old[i]) then old[i]:replace_with(new[i]) end
    end
    return new[1]
  end,

  examples = {
    { "over two views", [[
        (float[2,6,8] x, float scale) => (int8[96] y) <int64[2] s = {12,8}, int64[1] t = {96}> {
          n = Relu(x)
          a = Reshape(n, s)
          b = Reshape(a, t)
          y = tensor_cast.quantize(b, scale)
        }]],
      [[n = Relu(x)
        q = tensor_cast.quantize(n, scale)
        s2 = Constant <value = int64[2] {12,8}> ()
        a = Reshape(q, s2)
        t2 = Constant <value = int64[1] {96}> ()
        y = Reshape(a, t2)]] },
    { "a scale for each row, which is read", [[
        (float[2,6,8] x) => (int8[12,8] y, float[12,1] scale) <int64[2] s = {12,8}> {
          n = Relu(x)
          a = Reshape(n, s)
          y, scale = tensor_cast.dynamic_quantize_symmetric(a)
        }]],
      [[n = Relu(x)
        q, rows = tensor_cast.dynamic_quantize_symmetric(n)
        s2 = Constant <value = int64[2] {12,8}> ()
        y = Reshape(q, s2)
        t2 = Constant <value = int64[2] {12,1}> ()
        scale = Reshape(rows, t2)]] },
    { "a result left out between two", [[
        (float[2,6,8] x) => (int8[12,8] y, int32[12,1] offset) <int64[2] s = {12,8}> {
          n = Relu(x)
          a = Reshape(n, s)
          y, "", offset = tensor_cast.dynamic_quantize_asymmetric(a)
        }]],
      [[n = Relu(x)
        q, "", rows = tensor_cast.dynamic_quantize_asymmetric(n)
        s2 = Constant <value = int64[2] {12,8}> ()
        y = Reshape(q, s2)
        t2 = Constant <value = int64[2] {12,1}> ()
        offset = Reshape(rows, t2)]] },
    { "the scale output has no name", [[
        (float[2,6,8] x) => (int8[12,8] y) <int64[2] s = {12,8}> {
          a = Reshape(x, s)
          y = tensor_cast.dynamic_quantize_symmetric(a)
        }]],
      [[q = tensor_cast.dynamic_quantize_symmetric(x)
        s2 = Constant <value = int64[2] {12,8}> ()
        y = Reshape(q, s2)]] },
    { "an axis in front of what the view inserts", [[
        (float[2,3,8] x, float[3] scale) => (uint8[2,3,1,8] y) <int64[1] two = {2}> {
          a = Unsqueeze(x, two)
          y = QuantizeLinear <axis = -3> (a, scale)
        }]],
      [[q = QuantizeLinear <axis = 1> (x, scale)
        two2 = Constant <value = int64[1] {2}> ()
        y = Unsqueeze(q, two2)]] },
    { "8-bit floats", [[
        (float[2,3,8] x, float scale) => (float8e4m3fn[6,8] y) <int64[2] s = {6,8}> {
          a = Reshape(x, s)
          y = QuantizeLinear <output_dtype = 17> (a, scale)
        }]],
      [[q = QuantizeLinear <output_dtype = 17> (x, scale)
        y = Reshape(q, s)]] },
    { "8-bit floats after a view that no runtime has for them", [[
        (float[2,3,8] x, float scale) => (float8e4m3fn[2,3,1,8] y) <int64[1] two = {2}> {
          a = Unsqueeze(x, two)
          y = QuantizeLinear <output_dtype = 17> (a, scale)
        }]],
      rejected = "no runtime has this view for this type" },
    { "and behind it another", [[
        (float[2,3,8] x, float scale) => (float8e4m3fn[6,8] y) <int64[1] two = {2}, int64[2] s = {6,8}> {
          a = Unsqueeze(x, two)
          b = Reshape(a, s)
          y = QuantizeLinear <output_dtype = 17> (b, scale)
        }]],
      rejected = "no runtime has this view for this type" },
    { "4-bit integers", [[
        (float[2,3,8] x, float scale) => (int4[6,8] y) <int64[2] s = {6,8}> {
          a = Reshape(x, s)
          y = QuantizeLinear <output_dtype = 22> (a, scale)
        }]],
      rejected = "no runtime has views of this type" },
    { "twins", [[
        (float[2,8] x, float scale, uint8 zero) => (uint8[2,8] y, float[2,8] z) {
          y = QuantizeLinear(x, scale, zero)
          q = QuantizeLinear(x, scale, zero)
          z = DequantizeLinear(q, scale, zero)
        }]],
      [[y = QuantizeLinear(x, scale, zero)
        z = DequantizeLinear(y, scale, zero)]] },
    { "two kinds of twins, alike but for an attribute", [[
        (float[2,8] x, float scale) => (int8[2,8] y, uint8[2,8] z, int8[2,8] y2, uint8[2,8] z2) {
          y = tensor_cast.quantize(x, scale)
          z = tensor_cast.quantize <out_dtype = 2> (x, scale)
          y2 = tensor_cast.quantize <out_dtype = 3> (x, scale)
          z2 = tensor_cast.quantize <out_dtype = 2> (x, scale)
        }]],
      [[y2 = tensor_cast.quantize(x, scale)
        y = Identity(y2)
        z2 = tensor_cast.quantize <out_dtype = 2> (x, scale)
        z = Identity(z2)]] },
    { "twins of which one knows the scale", [[
        (float[2,8] x) => (int8[2,8] y, int8[2,8] z, float[2,1] scale) {
          y = tensor_cast.dynamic_quantize_symmetric(x)
          z, scale = tensor_cast.dynamic_quantize_symmetric(x)
        }]],
      [[z, scale = tensor_cast.dynamic_quantize_symmetric(x)
        y = Identity(z)]] },
    { "twins of which each knows something else", [[
        (float[2,8] x) => (uint8[2,8] y, int32[2,1] offset, uint8[2,8] z, float[2,1] scale) {
          y, "", offset = tensor_cast.dynamic_quantize_asymmetric <out_dtype = 2> (x)
          z, scale = tensor_cast.dynamic_quantize_asymmetric <out_dtype = 2> (x)
        }]],
      [[z, scale, offset = tensor_cast.dynamic_quantize_asymmetric <out_dtype = 2> (x)
        y = Identity(z)]] },
    { "a view that is quantized", [[
        (uint8[2,3,8] x, float scale, uint8 zero) => (uint8[6,8] y) <int64[2] s = {6,8}> {
          a = DequantizeLinear(x, scale, zero)
          b = Reshape(a, s)
          y = QuantizeLinear(b, scale, zero)
        }]],
      rejected = "the views are already on quantized values" },
    { "a view in front of what is quantized", [[
        (float[2,3,8] x, float scale, uint8 zero) => (float[6,8] y) <int64[2] s = {6,8}> {
          a = Reshape(x, s)
          q = QuantizeLinear(a, scale, zero)
          d = DequantizeLinear(q, scale, zero)
          y = Softmax(d)
        }]],
      rejected = "a view would separate the quantizer from its op" },
    { "a view in front of a product", [[
        (float[2,3,8] x, uint8[8,4] w) => (int32[6,4] y) <int64[2] s = {6,8}> {
          a = Reshape(x, s)
          q, scale, zero = DynamicQuantizeLinear(a)
          y = MatMulInteger(q, w, zero)
        }]],
      rejected = "a view would separate the quantizer from its product" },
    { "two products, which share the quantizer", [[
        (float[2,3,8] x, uint8[8,4] w, uint8[8,4] v) => (int32[6,4] y, int32[6,4] z) <int64[2] s = {6,8}> {
          a = Reshape(x, s)
          q, scale, zero = DynamicQuantizeLinear(a)
          y = MatMulInteger(q, w, zero)
          z = MatMulInteger(q, v, zero)
        }]],
      [[r, scale, zero = DynamicQuantizeLinear(x)
        q = Reshape(r, s)
        y = MatMulInteger(q, w, zero)
        z = MatMulInteger(q, v, zero)]] },
    { "a scalar that the scale gives an axis", [[
        (float[1] x, float[1] scale) => (int8[1] y) {
          a = Squeeze(x)
          y = tensor_cast.quantize(a, scale)
        }]],
      rejected = "a scalar gets an axis from its scale" },
    { "rows that the view cuts", [[
        (float[2,6,8] x) => (int8[24,4] y, float[24,1] scale) <int64[2] s = {24,4}> {
          a = Reshape(x, s)
          y, scale = tensor_cast.dynamic_quantize_symmetric(a)
        }]],
      rejected = "the views change the axis of the quantizer" },
  },
}
