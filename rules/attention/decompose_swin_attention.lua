--- Decompose shifted-window attention (Swin).
local window = lib "window"

return rule {
  doc = [[
    ShiftedWindowAttention(x, qkv_w, proj_w, bias(table, index))
      =>   windows, spatial = SwinWindowPartition(x)
           reverse(SwinAttention(MHAInProjection(windows), table, index, spatial) proj_w^T + proj_b, spatial)

    The bias is traced to its table and index, through the op or through Gather, Reshape, Transpose, Unsqueeze. A block
    with a bias of another origin stays unchanged, with a warning, unless the option `any_bias` is on: then each element
    of the bias is a row of the table. Blocks of Swin V2 (logit_scale) stay unchanged here.]],
  phase = "conversion",
  options = { any_bias = false },

  match = function(op, x, qkv_w, proj_w, bias, table, index, qkv_b, proj_b, logit_scale, window_size, shift, H, dropout)
    local traced = either(context(window.traced(op, table, index, window_size, H)), bias)
    return op.ruleengine.ShiftedWindowAttention{
      x, qkv_w, proj_w, traced, maybe(qkv_b), maybe(proj_b), maybe(logit_scale),
      window_size = window_size, shift_size = shift, num_heads = H, attention_dropout = dropout, dropout = any}
  end,

  where = function(m)
    refuse(m.logit_scale, "Swin V2 (logit_scale) not supported")
    refuse(not m.logit_scale and not m.table, "the relative position bias cannot be traced to table and index", nil,
      m.options.any_bias)
    m.C = window.need_block(m)
  end,

  rewrite = function(op, m)
    return window.parts(op, m, m.qkv_b, function(q, k) return q, k end, window.table_and_index(op, m))
  end,

  examples = {
    { "a bias of table and index", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[9,2] table, int64[16] index) => (float[1,4,4,2] y)
        <float[2,2] proj_w = {1,2,3,4}, float[2] proj_b = {5,6}> {
          b = ruleengine.RelativePositionBias <window_size = [2,2]> (table, index)
          y = ruleengine.ShiftedWindowAttention <window_size = [2,2], shift_size = [1,1], num_heads = 2>
            (x, qkv_w, proj_w, b, "", proj_b)
        }]],
      [[windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2], shift_size = [1,1]> (x)
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (windows, windows, windows, qkv_w)
        a = ruleengine.SwinAttention <window_size = [2,2], num_heads = 2, head_dim = 1> (q, k, v, table, index, spatial)
        w = Constant <value = float[2,2] {1,3,2,4}> ()
        p = MatMul(a, w)
        l = Add(p, proj_b)
        y = ruleengine.SwinWindowReverse <window_size = [2,2]> (l, spatial)]] },
    { "a bias of standard ops, which another block reads too", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[2,2] proj_w, float[9,2] table, int64[16] index)
          => (float[1,4,4,2] y, float[1,2,4,4] b)
        <int64[3] s = {4,4,-1}, int64[1] first = {0}> {
          g = Gather <axis = 0> (table, index)
          r = Reshape(g, s)
          t = Transpose <perm = [2,0,1]> (r)
          b = Unsqueeze(t, first)
          y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2> (x, qkv_w, proj_w, b)
        }]],
      [[g = Gather <axis = 0> (table, index)
        s2 = Constant <value = int64[3] {4,4,-1}> ()
        r = Reshape(g, s2)
        t = Transpose <perm = [2,0,1]> (r)
        first2 = Constant <value = int64[1] {0}> ()
        b = Unsqueeze(t, first2)
        windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2]> (x)
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (windows, windows, windows, qkv_w)
        a = ruleengine.SwinAttention <window_size = [2,2], num_heads = 2, head_dim = 1> (q, k, v, table, index, spatial)
        w = Transpose <perm = [1,0]> (proj_w)
        p = MatMul(a, w)
        y = ruleengine.SwinWindowReverse <window_size = [2,2]> (p, spatial)]] },
    { "an index of rows and columns", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[2,2] proj_w, float[9,2] table, int64[4,4] index)
          => (float[1,4,4,2] y)
        <int64[3] s = {4,4,-1}, int64[1] first = {0}> {
          g = Gather <axis = 0> (table, index)
          r = Reshape(g, s)
          t = Transpose <perm = [2,0,1]> (r)
          b = Unsqueeze(t, first)
          y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2> (x, qkv_w, proj_w, b)
        }]],
      [[windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2]> (x)
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (windows, windows, windows, qkv_w)
        a = ruleengine.SwinAttention <window_size = [2,2], num_heads = 2, head_dim = 1> (q, k, v, table, index, spatial)
        w = Transpose <perm = [1,0]> (proj_w)
        p = MatMul(a, w)
        y = ruleengine.SwinWindowReverse <window_size = [2,2]> (p, spatial)]] },
    { "an index of 32 bits", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[2,2] proj_w, float[9,2] table, int32[16] index) => (float[1,4,4,2] y)
        <int64[3] s = {4,4,-1}, int64[1] first = {0}> {
          g = Gather <axis = 0> (table, index)
          r = Reshape(g, s)
          t = Transpose <perm = [2,0,1]> (r)
          b = Unsqueeze(t, first)
          [block] y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2> (x, qkv_w, proj_w, b)
        }]],
      warned = "Skipping block: the relative position bias cannot be traced" },
    { "a bias from elsewhere", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[2,2] proj_w, float[1,2,4,4] b) => (float[1,4,4,2] y) {
          [block] y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2> (x, qkv_w, proj_w, b)
        }]],
      warned = "Skipping block: the relative position bias cannot be traced" },
    { "a bias from elsewhere, which its option allows", [[
        (float[1,4,4,2] x, float[6,2] qkv_w, float[2,2] proj_w, float[1,2,2,2] b) => (float[1,4,4,2] y) {
          y = ruleengine.ShiftedWindowAttention <window_size = [1,2], num_heads = 2> (x, qkv_w, proj_w, b)
        }]],
      [[windows, spatial = ruleengine.SwinWindowPartition <window_size = [1,2]> (x)
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (windows, windows, windows, qkv_w)
        t = Transpose <perm = [0,2,3,1]> (b)
        s = Constant <value = int64[2] {4,2}> ()
        table = Reshape(t, s)
        index = Constant <value = int64[4] {0,1,2,3}> ()
        a = ruleengine.SwinAttention <window_size = [1,2], num_heads = 2, head_dim = 1> (q, k, v, table, index, spatial)
        w = Transpose <perm = [1,0]> (proj_w)
        p = MatMul(a, w)
        y = ruleengine.SwinWindowReverse <window_size = [1,2]> (p, spatial)]],
      options = { any_bias = true } },
    { "Swin V2, of a map whose shape is unknown", [[
        (float[] x, float[6,2] qkv_w, float[2,2] proj_w, float[1,2,4,4] b, float[2,1,1] s) => (float[] y) {
          [block] y = ruleengine.ShiftedWindowAttention <window_size = [2,2], num_heads = 2>
            (x, qkv_w, proj_w, b, "", "", s)
        }]],
      warned = "Skipping block: Swin V2 (logit_scale) not supported" },
  },
}
