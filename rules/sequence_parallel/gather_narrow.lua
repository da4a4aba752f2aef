--- Gather quantized values instead of their sources.
local shard = lib "shard"

-- Bytes of an element.
local WIDTH = { double = 8, float = 4, float16 = 2, bfloat16 = 2, float8e4m3fn = 1, float8e5m2 = 1 }

return rule {
  doc = [[
    quantize(all_gather(x))   =>   all_gather(quantize(x))

    A quantizer that works token by token (a dynamic one with its scales) or a Cast to fewer bytes is computed on the
    shares: a half or a quarter of the bytes is sent, and each rank quantizes only its own tokens. A scale that is
    computed from the whole tensor needs all tokens. The gather has no other reader.]],
  phase = "parallel",
  after = "chain",
  options = { enable = true },
  when = function(_, options) return options.enable end,

  match = function(op, x, dim, rank, group)
    local cast = op.tensor_cast
    local whole = cast.all_gather{x, dim = dim, rank = rank, rank_group = group}:as "gather"
    local open = { whole, inputs = any, attrs = any, outputs = any }
    return either(
      cast.quantize(open):as "f",
      cast.dynamic_quantize_symmetric(open):as "f",
      cast.dynamic_quantize_asymmetric(open):as "f",
      cast.dynamic_quantize_mxfp4(open):as "f",
      op.QuantizeLinear(open):as "f",
      op.Cast(open):as "f")
  end,

  where = function(m)
    local y = m.f.outputs[1]
    need(m.f.op ~= "Cast" or WIDTH[m.x.dtype] and WIDTH[y.dtype] and WIDTH[y.dtype] < WIDTH[m.x.dtype],
      "the result is no narrower", y)
    local axis = shard.gathered_axis(m, m.x)
    for i = 2, #m.f.inputs do shard.need_common(m.f.inputs[i], m.group) end
    m.axes = need(m.f:along(axis), "the result rests on all tokens", m.f)
  end,

  rewrite = function(op, m)
    local old, new = m.f.outputs, { m.f:with(m.x) }
    for i = 1, #new do
      if m.axes[i] then new[i] = shard.gather(op, new[i], m.rank, m.group, m.axes[i]) end
    end
    for i = 2, #old do
      if old[i] then old[i]:replace_with(new[i]) end
    end
    return new[1]
  end,

  examples = {
    { "each token its scale", [[
        (float[1,2,8] x) => (int8[1,4,8] q, float[1,4,1] scale) {
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          q, scale = tensor_cast.dynamic_quantize_symmetric(g)
        }]],
      [[q2, scale2 = tensor_cast.dynamic_quantize_symmetric(x)
        q = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (q2)
        scale = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (scale2)]] },
    { "one scale that is given", [[
        (float[2,8] x, float scale) => (uint8[4,8] q) {
          g = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (x)
          q = QuantizeLinear(g, scale)
        }]],
      [[q2 = QuantizeLinear(x, scale)
        q = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (q2)]] },
    { "a Cast to half", [[
        (float[2,8] x) => (float16[4,8] y) {
          g = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (x)
          y = Cast <to = 10> (g)
        }]],
      [[h = Cast <to = 10> (x)
        y = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (h)]] },
    { "a Cast to double", [[
        (float[2,8] x) => (double[4,8] y) {
          g = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (x)
          y = Cast <to = 11> (g)
        }]],
      rejected = "the result is no narrower" },
    { "a scale of the whole", [[
        (float[1,2,8] x) => (int8[1,4,8] q) <float scale> {
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          q, scale = tensor_cast.dynamic_quantize_symmetric <dims : ints = []> (g)
        }]],
      rejected = "the result rests on all tokens" },
    { "a scale for each token", [[
        (float[2,8] x, float[4] scale) => (uint8[4,8] q) {
          g = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (x)
          q = QuantizeLinear <axis = 0> (g, scale)
        }]],
      rejected = "the result rests on all tokens" },
    { "a scale that the ranks agreed upon", [[
        (float[1,2,8] x, float c) => (int8[1,4,8] q) {
          scale = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (c)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          q = tensor_cast.quantize(g, scale)
        }]],
      [[scale = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (c)
        q2 = tensor_cast.quantize(x, scale)
        q = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (q2)]] },
    { "a scale that each rank computes of its own share", [[
        (float[1,2,8] x) => (int8[1,4,8] q) {
          scale = ReduceMax <keepdims = 0> (x)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          q = tensor_cast.quantize(g, scale)
        }]],
      rejected = "it may differ between the ranks" },
    { "a scale that other ranks agreed upon", [[
        (float[1,2,8] x, float c) => (int8[1,4,8] q) {
          scale = tensor_cast.all_reduce <rank = 0, rank_group = [0,2]> (c)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          q = tensor_cast.quantize(g, scale)
        }]],
      rejected = "it may differ between the ranks" },
    { "a gather that does not say its ranks", [[
        (float[1,2,8] x, float c) => (int8[1,4,8] q) {
          scale = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (c)
          g = tensor_cast.all_gather <dim = 1, rank = 0> (x)
          q = tensor_cast.quantize(g, scale)
        }]],
      rejected = "the gather does not say its axis or its ranks" },
    { "scales of which each rank has its share", [[
        (float[1,2,8] x, float[16] c) => (int8[1,4,8] q) {
          scale = tensor_cast.reduce_scatter <dim = 0, rank = 0, rank_group = [0,1]> (c)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          q = tensor_cast.quantize(g, scale)
        }]],
      rejected = "it may differ between the ranks" },
    { "or more of them", [[
        (float[1,2,8] x, float c) => (int8[1,4,8] q) {
          scale = tensor_cast.all_reduce <rank = 0, rank_group = [0,1,2,3]> (c)
          g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (x)
          q = tensor_cast.quantize(g, scale)
        }]],
      rejected = "it may differ between the ranks" },
  },
}
