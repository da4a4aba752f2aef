--- Join along an axis that is there, not along a new one that is merged into it.
local axes = lib "axes"

return rule {
  doc = [[
    Reshape(Concat(Unsqueeze(a), Unsqueeze(b), ...), sizes)   =>   Reshape(Concat(a, b, ...), sizes)

    The new axis is the one of the Concat, and in front of another: without it the numbers
    lie in the same order.]],
  phase = "canonical",

  match = function(op, sizes)
    return op.Reshape{op.Concat{rest "parts", axis = any}:as "stack", sizes, allowzero = any}:as "flat"
  end,

  where = function(m)
    local rank = need(m.stack.outputs[1]:rank(), "the rank is unknown", m.stack)
    m.axis = axes.from_front(m.stack.attrs.axis, rank)
    need(m.axis < rank - 1, "there is no axis behind the new one", m.stack)
    m.all = {}
    for i, part in ipairs(m.parts) do
      local made = part.producer
      local new = made and made.op == "Unsqueeze" and made.domain == "" and made.inputs[2]:dims() or {}
      need(#new == 1 and axes.from_front(new[1], rank) == m.axis, "a part has no new axis there", part)
      m.all[i] = made.inputs[1]
    end
    -- A 0 copies the size of the same place, which is another one from the new axis on.
    for i, size in ipairs(need(m.sizes:dims(), "the sizes are not known", m.sizes)) do
      need(i <= m.axis or type(size) == "number" and size ~= 0, "a size may be copied", m.sizes)
    end
  end,

  rewrite = function(op, m) return m.flat:with(op.Concat{m.all, axis = m.axis}, m.sizes) end,

  examples = {
    { "halves", [[
        (float[B,3,2] a, float[B,3,2] b) => (float[B,3,4] y) <int64[1] new = {2}, int64[3] sizes = {0,3,4}> {
          au = Unsqueeze(a, new)
          bu = Unsqueeze(b, new)
          s = Concat <axis = 2> (au, bu)
          y = Reshape(s, sizes)
        }]],
      [[z = Constant <value = int64[3] {0,3,4}> ()
        s = Concat <axis = 2> (a, b)
        y = Reshape(s, z)]] },
    { "three parts, the size copied is another", [[
        (float[2,3] a, float[2,3] b, float[2,3] c) => (float[2,9] y) <int64[1] new = {-2}, int64[2] sizes = {0,-1}> {
          au = Unsqueeze(a, new)
          bu = Unsqueeze(b, new)
          cu = Unsqueeze(c, new)
          s = Concat <axis = 1> (au, bu, cu)
          y = Reshape(s, sizes)
        }]],
      [[z = Constant <value = int64[2] {0,-1}> ()
        s = Concat <axis = 1> (a, b, c)
        y = Reshape(s, z)]] },
    { "pairs", [[
        (float[2,3] a, float[2,3] b) => (float[2,6] y) <int64[1] new = {2}, int64[2] sizes = {2,6}> {
          au = Unsqueeze(a, new)
          bu = Unsqueeze(b, new)
          s = Concat <axis = 2> (au, bu)
          y = Reshape(s, sizes)
        }]],
      rejected = "there is no axis behind the new one" },
    { "a part of its own", [[
        (float[2,3] a, float[2,1,3] b) => (float[2,6] y) <int64[1] new = {1}, int64[2] sizes = {2,6}> {
          au = Unsqueeze(a, new)
          s = Concat <axis = 1> (au, b)
          y = Reshape(s, sizes)
        }]],
      rejected = "a part has no new axis there" },
    { "a copied size behind the new axis", [[
        (float[2,3] a, float[2,3] b) => (float[2,2,3] y) <int64[1] new = {1}, int64[3] sizes = {2,0,3}> {
          au = Unsqueeze(a, new)
          bu = Unsqueeze(b, new)
          s = Concat <axis = 1> (au, bu)
          y = Reshape(s, sizes)
        }]],
      rejected = "a size may be copied" },
    { "sizes of the model", [[
        (float[2,3] a, float[2,3] b, int64[2] sizes) => (float[?,?] y) <int64[1] new = {1}> {
          au = Unsqueeze(a, new)
          bu = Unsqueeze(b, new)
          s = Concat <axis = 1> (au, bu)
          y = Reshape(s, sizes)
        }]],
      rejected = "the sizes are not known" },
  },
}
