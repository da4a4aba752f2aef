--- Compute before the leading axes are merged instead of after.
local merge = lib "merge"

return rule {
  doc = [[
    f(merge(x), y)   =>   merge(f(x, split(y)))      merge: [B,H,M,N] -> [B*H,M,N]

    f transposes the last two axes, is a softmax or the largest number over the last one, a product with a value that
    was merged too, a Cast, or elementwise arithmetic or choice; there y is split unless it is broadcast over the batch.
    The merge moves towards the outputs, until the Reshape that splits the axes again removes it (cancel_reshapes). The
    number of elements determines the merged axis.]],
  phase = "canonical",

  match = function(op, x, y, z, c, sizes, B, H, X, M)
    x:shape "B H M N"
    local merged = context(op.Reshape{x, sizes, allowzero = any}:shape "X M N":as "merge")
    return either(
      op.Transpose{merged, perm = {0, 2, 1}}:as "turn",
      op.Softmax{merged, axis = -1}:as "softmax",
      op.Cast{merged, to = any}:as "cast",
      op.ReduceMax(merged, {-1}):as "largest",
      function()
        -- The axis that is summed over may have different names.
        z:shape "B H K L"
        return op.MatMul(merged, context(op.Reshape{z, any, allowzero = any}:shape "X K L"))
      end,
      function()
        c:fits "1"
        return either(op.Add(merged, y), op.Sub(merged, y), op.Mul(merged, y), op.Div(merged, y),
          op.Where(y, merged, c), op.Where(y, c, merged)):shape "X M _":as "elements"
      end)
  end,

  where = function(m)
    merge.need_elements(m.x)
    if m.z then merge.need_elements(m.z) end
    if not m.y then return end
    local rank = need(m.y:rank(), "the rank is unknown", m.y)
    m.split = rank == 3 and m.y:dim(0) ~= 1
    need(not m.split or m.y:dim(0) == m.X, "the operand has another batch", m.y)
  end,

  rewrite = function(op, m)
    if m.turn then return merge.merged(op, op.Transpose{m.x, perm = {0, 1, 3, 2}}, m.X) end
    if m.z then return merge.merged(op, op.MatMul(m.x, m.z), m.X) end
    if m.largest then return merge.merged(op, op.ReduceMax(m.x, {-1}), m.X) end
    local alone = m.softmax and op.Softmax{m.x, axis = -1} or m.cast and m.cast:with(m.x)
    if alone then return m.merge:with(alone, m.sizes) end
    local old, inputs = m.merge.outputs[1], {}
    local y = m.split and merge.split(op, m.y, m.B, m.H) or m.y
    for i, input in ipairs(m.elements.inputs) do inputs[i] = input == old and m.x or input == m.y and y or input end
    -- If two names of the last axis mean one size, the result has the known name.
    local same = m.elements.outputs[1]:dim(2) == old:dim(2)
    return m.merge:with(m.elements:with(inputs), same and m.sizes or {m.X, m.M, -1})
  end,

  examples = {
    { "transposed heads", [[
        (float[2,4,8,16] x) => (float[2,4,16,8] y) <int64[3] m = {-1,8,16}, int64[4] s = {2,4,16,8}> {
          a = Reshape(x, m)
          b = Transpose <perm = [0,2,1]> (a)
          y = Reshape(b, s)
        }]],
      [[t = Transpose <perm = [0,1,3,2]> (x)
        m2 = Constant <value = int64[3] {8,16,8}> ()
        a = Reshape(t, m2)
        y = Reshape(a, s)]] },
    { "products of heads", [[
        (float[2,4,8,16] a, float[2,4,16,8] b) => (float[8,8,8] y) <int64[3] s = {8,8,16}, int64[3] t = {8,16,8}> {
          c = Reshape(a, s)
          d = Reshape(b, t)
          y = MatMul(c, d)
        }]],
      "m = MatMul(a, b) s2 = Constant <value = int64[3] {8,8,8}> () y = Reshape(m, s2)" },
    { "the largest number of each row", [[
        (float[2,4,8,16] x) => (float[8,8,1] y) <int64[3] s = {8,8,16}, int64[1] last = {2}> {
          a = Reshape(x, s)
          y = ReduceMax(a, last)
        }]],
      [[axis = Constant <value = int64[1] {-1}> ()
        a = ReduceMax(x, axis)
        t = Constant <value = int64[3] {8,8,1}> ()
        y = Reshape(a, t)]] },
    { "in another type", [[
        (float16[2,4,8,16] x) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Cast <to = 1> (a)
        }]],
      "a = Cast <to = 1> (x) y = Reshape(a, s)" },
    { "softmax", [[
        (float[2,4,8,16] x) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Softmax <axis = 2> (a)
        }]],
      "a = Softmax <axis = -1> (x) y = Reshape(a, s)" },
    { "one row for each head", [[
        (float[2,4,8,16] x, float[8,1,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Add(a, b)
        }]],
      [[t = Constant <value = int64[4] {2,4,1,16}> ()
        c = Reshape(b, t)
        a = Add(x, c)
        y = Reshape(a, s)]] },
    { "a batch and columns of unknown size", [[
        (float[B,4,8,N] x, float[B,32,N] z) => (float[X,8,N] y) <int64[2] c = {-1,8}> {
          n = Shape <start = 3> (x)
          s = Concat <axis = 0> (c, n)
          a = Reshape(x, s)
          b = Reshape(z, s)
          d = Neg(b)
          y = Add(a, d)
        }]],
      [[n = Shape <start = 3> (x)
        s = Concat <axis = 0> (c, n)
        b = Reshape(z, s)
        d = Neg(b)
        axes = Constant <value = int64[1] {1}> ()
        wide = Unsqueeze(d, axes)
        batch = Shape <end = 1> (x)
        rest = Constant <value = int64[3] {4,8,0}> ()
        t = Concat <axis = 0> (batch, rest)
        e = Reshape(wide, t)
        a = Add(x, e)
        y = Reshape(a, s)]] },
    { "one matrix for all", [[
        (float[2,4,8,16] x, float[1,8,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Sub(a, b)
        }]],
      "a = Sub(x, b) y = Reshape(a, s)" },
    { "a choice by column", [[
        (float[2,4,8,16] x, bool[8,1,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}, float c = {-1.0}> {
          a = Reshape(x, s)
          y = Where(b, c, a)
        }]],
      [[t = Constant <value = int64[4] {2,4,1,16}> ()
        d = Reshape(b, t)
        a = Where(d, c, x)
        y = Reshape(a, s)]] },
    { "softmax over another axis", [[
        (float[2,4,8,16] x) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Softmax <axis = 1> (a)
        }]],
      "a = Reshape(x, s) y = Softmax <axis = 1> (a)" },
  },
}
