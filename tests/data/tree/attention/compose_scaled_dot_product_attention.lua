--- Textbook attention in the tree grammar.
local tree = lib "tree"
local Fork, Wildcard, is = tree.Fork, tree.Wildcard, tree.is

local is_scale = is({"Mul", "Div"}, {tree.constant "1"})
local is_transpose_last_two = is("Transpose", {perm = {0, 1, 3, 2}})
local is_attention_matmul = is "MatMul":shape "B H S E"

local function make_sdpa(t)
  local scale, drop = t:get_node(0, 0), t:get_node{0, 2, is_wildcard = true}.nodes[1]
  local c = scale.inputs[2]:scalar() or scale.inputs[1]:scalar()
  return tree.module{type = "ruleengine.ScaledDotProductAttention", attrs = {
    num_heads = t.m.H, head_dim = t.m.E, scale = scale.op == "Div" and 1 / c or c,
    dropout_p = drop and (drop.inputs[2] and drop.inputs[2]:scalar() or 0.5)}}
end

return rule(tree.rule {
  doc = [[ softmax(s q k^T) v   =>   ScaledDotProductAttention(q, k, v, scale = s) ]],
  phase = "attention",
  tree = Fork{
    inputs = {
      Fork{
        inputs = {any, {is_transpose_last_two}},
        operator = is "MatMul",
        output = {is_scale, is("Softmax", {axis = -1}), Wildcard(is "Dropout", "?")},
      },
      any,
    },
    operator = is_attention_matmul,
  },
  graft = {make_sdpa},
  examples = {
    { "divided", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) <float c = {4.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          p = Softmax <axis = -1> (d)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v)" },
    { "dropout", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) <float c = {4.0}, float r = {0.25}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Mul(c, s)
          p = Softmax <axis = -1> (d)
          u = Dropout(p, r)
          y = MatMul(u, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 4.0, dropout_p = 0.25> (q, k, v)" },
    { "two dropouts", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) <float c = {4.0}, float r = {0.25}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Mul(c, s)
          p = Softmax <axis = -1> (d)
          t = Dropout(p, r)
          u = Dropout(t, r)
          y = MatMul(u, v)
        }]],
      [[kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Mul(c, s)
          p = Softmax <axis = -1> (d)
          t = Dropout(p, r)
          u = Dropout(t, r)
          y = MatMul(u, v)]] },
  },
})
