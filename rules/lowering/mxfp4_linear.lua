--- A linear layer of floats of four bits in standard ops.
local number = lib "number"

-- What the codes stand for: a sign, two bits of exponent, one of mantissa.
local E2M1 = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

return rule {
  doc = [[
    mxfp4_linear(x, w)   =>   (E2M1[x] x_scale) (E2M1[w] w_scale) + b

    In float; each scale serves `group_size` numbers along x's last axis and w's first.]],
  phase = "target",

  match = function(op, x, w, x_scale, w_scale, b, dtype, group)
    w:shape "K N"
    w_scale:shape "_ N"
    return op.tensor_cast.mxfp4_linear{x, w, x_scale, w_scale, maybe(b), out_dtype = dtype, group_size = group}
  end,

  where = function(m)
    number.need_float(m.dtype, m.x)
    need(type(m.K) == "number" and m.group > 0 and m.K % m.group == 0, "the groups are not known", m.w)
    local groups = m.K / m.group
    need(m.w_scale:dim(0) == groups, "the scale is of other groups", m.w_scale)
    need(m.x_scale:rank() == m.x:rank() and m.x_scale:dim(-1) == groups, "the scale is of other groups", m.x_scale)
  end,

  rewrite = function(op, m)
    local function numbers(codes) return op.Gather{op.Constant{value_floats = E2M1}, op.Cast{codes, to = "int64"}, axis = 0} end
    local like_x = {}
    for i = 1, m.x:rank() - 1 do like_x[i] = 0 end
    like_x[#like_x + 1] = m.K
    local x_scale = op.Expand(op.Unsqueeze(number.float(op, m.x_scale), {-1}), {m.group})
    local x = op.Mul(numbers(m.x), op.Reshape(x_scale, like_x))
    local w = op.Mul(numbers(m.w), number.by_row(op, number.float(op, m.w_scale), m.K))
    return number.product(op, x, w, m.b and number.float(op, m.b), m.dtype)
  end,

  examples = {
    { "two groups", [[
        (uint8[3,4] x, uint8[4,5] w, float[3,2] xs, float[2,5] ws) => (float[3,5] y) {
          y = tensor_cast.mxfp4_linear <group_size = 2> (x, w, xs, ws)
        }]],
      [[e2m1 = Constant <value = float[16] {0,0.5,1,1.5,2,3,4,6,0,-0.5,-1,-1.5,-2,-3,-4,-6}> ()
        xi = Cast <to = 7> (x)
        xn = Gather <axis = 0> (e2m1, xi)
        last = Constant <value = int64[1] {-1}> ()
        xu = Unsqueeze(xs, last)
        two = Constant <value = int64[1] {2}> ()
        xe = Expand(xu, two)
        xl = Constant <value = int64[2] {0,4}> ()
        xr = Reshape(xe, xl)
        xm = Mul(xn, xr)
        wi = Cast <to = 7> (w)
        wn = Gather <axis = 0> (e2m1, wi)
        one = Constant <value = int64[1] {1}> ()
        wu = Unsqueeze(ws, one)
        wide = Constant <value = int64[3] {2,2,5}> ()
        we = Expand(wu, wide)
        wl = Constant <value = int64[2] {4,5}> ()
        wr = Reshape(we, wl)
        wm = Mul(wn, wr)
        y = MatMul(xm, wm)]] },
    { "scales of groups of another size", [[
        (uint8[3,4] x, uint8[4,5] w, float[3,2] xs, float[4,5] ws) => (float[3,5] y) {
          y = tensor_cast.mxfp4_linear <group_size = 2> (x, w, xs, ws)
        }]],
      rejected = "the scale is of other groups" },
  },
}
