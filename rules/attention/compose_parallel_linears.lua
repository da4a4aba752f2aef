--- Pack the three projections of one source into one.
local linear = lib "linear"

return rule {
  doc = [[
    attend(heads(x Wq^T + bq), heads(x Wk^T + bk), heads(x Wv^T + bv), ...)
      =>   q, k, v = MHAInProjection(x, x, x, [Wq; Wk; Wv], [bq; bk; bv]);  attend(q, k, v, ...)

    All three have a bias or none has; the weights are equal in shape.]],
  phase = "attention",

  match = function(op, x, wq, wk, wv, bq, bk, bv, H, D)
    x:shape "B S _"
    local function heads(w, b)
      local split = op.Reshape{linear.any(op, x, w, b), any, attrs = any}
      return op.Transpose{split, perm = {0, 2, 1, 3}}:shape "B H S D"
    end
    return op.ruleengine.ScaledDotProductAttention{heads(wq, bq), heads(wk, bk), heads(wv, bv), rest "more",
      num_heads = H, head_dim = D, attrs = any}:as "attend"
  end,

  where = function(m)
    need(m.wq.shape == m.wk.shape and m.wk.shape == m.wv.shape, "the projections differ in shape", m.wk)
    need((m.bq ~= nil) == (m.bk ~= nil) and (m.bk ~= nil) == (m.bv ~= nil),
      "some have a bias and some have none", m.attend)
    for _, b in ipairs{m.bq, m.bk, m.bv} do
      need(b:rank() == 1 and b:dim(0) == m.wq:dim(0), "a bias is not one number for each output", b)
    end
  end,

  rewrite = function(op, m)
    local w = op.Concat{m.wq, m.wk, m.wv, axis = 0}
    local b = m.bq and op.Concat{m.bq, m.bk, m.bv, axis = 0}
    local q, k, v = op.ruleengine.MHAInProjection{m.x, m.x, m.x, w, b, num_heads = m.H, head_dim = m.D, outputs = 3}
    return m.attend:with(q, k, v, m.more)
  end,
}
