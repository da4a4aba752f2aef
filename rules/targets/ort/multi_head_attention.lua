--- Attention as ONNX Runtime's own op.
return rule {
  doc = [[
    ScaledDotProductAttention(q, k, v, mask)   =>   heads(MultiHeadAttention(merged q, merged k, merged v, bias))

    Key heads that serve several query heads are repeated. A soft cap it cannot say.]],
  phase = "target",

  match = function(op, q, k, v, mask, scale, causal, softcap, H, E, S, L)
    q:shape "_ _ S D"
    k:shape "_ G L D"
    return op.ruleengine.ScaledDotProductAttention{q, k, v, maybe(mask), num_heads = H, head_dim = E, scale = scale,
      is_causal = causal, softcap = softcap, dropout_p = any}
  end,

  where = function(m)
    need(m.softcap == 0, "MultiHeadAttention has no soft cap", m.q)
    need(m.causal == 0 or m.S == m.L, "causal between sequences of different length", m.q)
    need(type(m.G) == "number" and type(m.D) == "number", "the heads are not known", m.k)
  end,

  rewrite = function(op, m)
    local serves = {}
    for i = 1, m.H do serves[i] = math.floor((i - 1) * m.G / m.H) end
    local function repeated(x) return m.G == m.H and x or op.Gather{x, serves, axis = 1} end
    local function merged(x, width)
      return op.Reshape(op.Transpose{x, perm = {0, 2, 1, 3}}, {0, 0, m.H * width})
    end

    local bias = m.mask
    if bias then
      local rank = need(bias:rank(), "the rank of the mask is unknown", bias)
      if bias.dtype == "bool" then bias = op.Where(bias, 0, -math.huge) end
      if rank < 4 or bias:dim(2) ~= m.S or bias:dim(3) ~= m.L then
        local lengths = { op.Shape{m.q, start = 2, ["end"] = 3}, op.Shape{m.k, start = 2, ["end"] = 3} }
        bias = op.Expand(bias, op.Concat{{1, 1}, lengths, axis = 0})
      end
    end

    local y = op["com.microsoft"].MultiHeadAttention{merged(m.q, m.D), merged(repeated(m.k), m.D),
      merged(repeated(m.v), m.E), nil, nil, bias, num_heads = m.H, scale = m.scale, unidirectional = m.causal}
    -- A query that sees no key gives zeros.
    if bias then y = op.Where(op.IsNaN(y), 0, y) end
    return op.Transpose{op.Reshape(y, {0, 0, m.H, m.E}), perm = {0, 2, 1, 3}}
  end,
}
