--- Decompose shifted-window attention of Swin V2, which compares directions.
local window = lib "window"

return rule {
  doc = [[
    ShiftedWindowAttention(x, qkv_w, proj_w, c sigmoid(bias(table, index)), logit_scale = t)
      =>   windows, spatial = SwinWindowPartition(x)
           q, k, v = MHAInProjection(windows), where keys have no bias
           reverse(SwinAttention(q / |q| exp(min(t, log 100)) sqrt(D), k / |k|, v, c sigmoid(table), index, spatial)
                   proj_w^T + proj_b, spatial)

    SwinAttention divides by sqrt(D). The bias may come without c sigmoid; it is traced as in
    `decompose_swin_attention`, with the same option `any_bias`. Its table is often computed, by a small network of
    relative coordinates. The option `swin_v2` exists for the pack, where it disables this rule.]],
  phase = "conversion",
  options = { any_bias = false, swin_v2 = true },
  when = function(_, options) return options.swin_v2 end,

  match = function(op, x, qkv_w, proj_w, bias, table, index, qkv_b, proj_b, logit_scale, factor, window_size, shift, H,
                   dropout)
    local traced = window.traced(op, table, index, window_size, H)
    local function bent()
      factor:const()
      factor:fits "1"
      return context(op.Mul(op.Sigmoid(traced), factor))
    end
    local any_bias = either(bent, context(traced), bias)
    return op.ruleengine.ShiftedWindowAttention{x, qkv_w, proj_w, any_bias, maybe(qkv_b), maybe(proj_b), logit_scale,
      window_size = window_size, shift_size = shift, num_heads = H, attention_dropout = dropout, dropout = any}
  end,

  where = function(m)
    refuse(not m.table, "the relative position bias cannot be traced to table and index", nil, m.options.any_bias)
    m.C = window.need_block(m)
    need(not m.qkv_b or m.qkv_b.dtype, "the type of the bias is unknown", m.qkv_b)
    local t = m.logit_scale
    refuse(not (t:rank() == 3 and (t:dim(0) == m.H or t:dim(0) == 1) and t:dim(1) == 1 and t:dim(2) == 1),
      "the logit scale is not one for each head")
  end,

  rewrite = function(op, m)
    local D, table, index = m.C / m.H, window.table_and_index(op, m)
    if m.factor then table = op.Mul(op.Sigmoid(table), m.factor) end

    local qkv_b, C = m.qkv_b, m.C
    if qkv_b then
      local none = op.Expand(op.Cast{{0}, to = qkv_b.dtype}, {C})
      qkv_b = op.Concat{op.Slice(qkv_b, {0}, {C}, {0}), none, op.Slice(qkv_b, {2 * C}, {3 * C}, {0}), axis = 0}
    end

    -- Zeros stay zeros. 2^-24 is the smallest number of float16, which cannot hold 1e-12.
    local least = m.x.dtype == "float16" and 2 ^ -24 or 1e-12
    local function direction(x) return op.Div(x, op.Max(op.ReduceL2(x, {-1}), least)) end
    local function turned(q, k)
      local scale = op.Mul(op.Exp(op.Min(m.logit_scale, math.log(100))), D ^ 0.5)
      return op.Mul(direction(q), scale), direction(k)
    end
    return window.parts(op, m, qkv_b, turned, table, index)
  end,

  examples = {
    { "a computed table, a bias of queries, keys and values", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[9,1] table, int64[16] index) => (float[1,4,4,2] y)
        <float[2,2] proj_w = {1,2,3,4}, float[6] qkv_b = {1,2,3,4,5,6}, float[1,1,1] t = {9.0}, float c = {16.0}> {
          b = ruleengine.RelativePositionBias <window_size = [2,2]> (table, index)
          s = Sigmoid(b)
          m = Mul(c, s)
          y = ruleengine.ShiftedWindowAttention <window_size = [2,2], shift_size = [1,1], num_heads = 1>
            (x, qkv_w, proj_w, m, qkv_b, "", t)
        }]],
      [[windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2], shift_size = [1,1]> (x)
        no_keys = Constant <value = float[6] {1,2,0,0,5,6}> ()
        q, k, v = ruleengine.MHAInProjection <num_heads = 1, head_dim = 2> (windows, windows, windows, qkv_w, no_keys)
        last = Constant <value = int64[1] {-1}> ()
        little = Constant <value = float {1e-12}> ()
        q_length = ReduceL2(q, last)
        q_size = Max(q_length, little)
        q_direction = Div(q, q_size)
        scale = Constant <value = float[1,1,1] {141.42137}> ()
        q_scaled = Mul(q_direction, scale)
        k_length = ReduceL2(k, last)
        k_size = Max(k_length, little)
        k_direction = Div(k, k_size)
        s = Sigmoid(table)
        sixteen = Constant <value = float {16.0}> ()
        rows = Mul(s, sixteen)
        a = ruleengine.SwinAttention <window_size = [2,2], num_heads = 1, head_dim = 2>
          (q_scaled, k_direction, v, rows, index, spatial)
        w = Constant <value = float[2,2] {1,3,2,4}> ()
        p = MatMul(a, w)
        y = ruleengine.SwinWindowReverse <window_size = [2,2]> (p, spatial)]] },
    { "a bias from elsewhere", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[2,2] proj_w, float[1,2,4,4] b, float[2,1,1] t)
          => (float[1,4,4,2] y) {
          [block] y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2>
            (x, qkv_w, proj_w, b, "", "", t)
        }]],
      warned = "Skipping block: the relative position bias cannot be traced" },
    { "Swin V1", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[2,2] proj_w, float[9,2] table, int64[16] index)
          => (float[1,4,4,2] y) {
          b = ruleengine.RelativePositionBias <window_size = [2,2]> (table, index)
          y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2> (x, qkv_w, proj_w, b)
        }]],
      [[b = ruleengine.RelativePositionBias <window_size = [2,2]> (table, index)
        y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2> (x, qkv_w, proj_w, b)]] },
  },
}
