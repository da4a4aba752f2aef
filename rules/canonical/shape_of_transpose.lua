--- Read the shape of a Transpose from the Transpose.
return rule {
  doc = [[
    Gather(Shape(x), perm)   =>   Shape(Transpose(x, perm))      if that Transpose is there

    ONNX Runtime moves Transposes behind the reading of shapes. Then x has two readers, which keep other rules off.]],
  phase = "canonical",

  match = function(op, x, places)
    places:const "_"
    return op.Gather(op.Shape(x), places)
  end,

  where = function(m)
    local places = m.places:constant()
    for _, user in ipairs(m.x.users) do
      local perm = user.op == "Transpose" and user.attrs.perm
      local same = perm and #perm == #places
      for i, place in ipairs(places) do same = same and perm[i] == place end
      m.turned = same and user.outputs[1] or m.turned
    end
    need(m.turned, "no Transpose has its axes in this order", m.x)
  end,

  rewrite = function(op, m) return op.Shape(m.turned) end,

  examples = {
    { "the middle axes exchanged", [[
        (float[A,B,C,D] x) => (float[A,C,B,D] y, int64[4] z) <int64[4] p = {0,2,1,3}> {
          y = Transpose <perm = [0,2,1,3]> (x)
          s = Shape(x)
          z = Gather(s, p)
        }]],
      "y = Transpose <perm = [0,2,1,3]> (x) z = Shape(y)" },
    { "another order", [[
        (float[A,B,C,D] x) => (float[A,C,B,D] y, int64[4] z) <int64[4] p = {0,2,3,1}> {
          y = Transpose <perm = [0,2,1,3]> (x)
          s = Shape(x)
          z = Gather(s, p)
        }]],
      rejected = "no Transpose has its axes in this order" },
  },
}
