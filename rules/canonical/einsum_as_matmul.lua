--- Write an Einsum of two operands as a MatMul.

-- The letters of one operand, without duplicates; nil for anything else.
local function letters(text)
  local list, places = {}, {}
  for letter in text:gmatch "." do
    if not letter:match "%w" or places[letter] then return nil end
    list[#list + 1] = letter
    places[letter] = #list
  end
  return list, places
end

-- `...` as letters that the equation does not use, one for each axis of x without a letter.
local function spelled(text, x)
  local before, after = text:match "^(%a*)%.%.%.(%a*)$"
  if not before then return text end
  local count = need(x:rank(), "the rank is unknown", x) - #before - #after
  return before .. ("0123456789"):sub(1, count) .. after, count
end

-- The letters of a by kind: in both operands and the result (batch), summed over, or in one operand and the result.
local function sort(list, other, result)
  local batch, summed, own = {}, {}, {}
  for _, letter in ipairs(list) do
    local to = not result[letter] and summed or other[letter] and batch or own
    if to == summed and not other[letter] then return nil end
    to[#to + 1] = letter
  end
  return batch, summed, own
end

-- The perm that brings `places` into this order; nil if they are in order.
local function order(places, ...)
  local perm, moves = {}, false
  for _, group in ipairs{...} do
    for _, letter in ipairs(group) do
      perm[#perm + 1] = places[letter] - 1
      moves = moves or places[letter] ~= #perm
    end
  end
  return moves and perm or nil
end

-- Whether x is a softmax over this axis, and the sizes of the axis are known by name only.
local function are_keys(x, place, size, other)
  return x.producer and x.producer.op == "Softmax" and place == x:rank() and type(size) ~= "number"
    and type(other) ~= "number"
end

-- Removes all letters except one from `own`: they are batch axes, of size 1 in the other operand, which has `batch`
-- axes. The letter that stays is the last one in the result; for a softmax the last one of its own. Also returns the
-- axes that the other operand lacks.
local function spread(x, own, result, batch)
  if not (x.producer and x.producer.op == "Softmax") then
    table.sort(own, function(one, two) return result[one] < result[two] end)
  end
  local more, axes = {}, {}
  for i = 1, #own - 1 do
    more[i], axes[i] = own[i], batch + i - 1
  end
  return more, { own[#own] }, #axes > 0 and axes or nil
end

return rule {
  doc = [[
    Einsum(a, b)   =>   Transpose(Transpose(a) Transpose(b))

    One letter is summed over. Each operand has at least one letter of its own, and one of them has only one. All others
    are in both operands and in the result. Transposes are built where axes move; the operand with fewer letters of its
    own is broadcast (Unsqueeze).]],
  phase = "canonical",

  match = function(op, a, b, equation) return op.Einsum{a, b, equation = equation} end,

  where = function(m)
    local left, right, out = m.equation:gsub("%s", ""):match "^([%a%.]+),([%a%.]+)%->([%a%.]+)$"
    need(left, "the equation does not have two operands and a result", m.equation)
    local a_count, b_count
    left, a_count = spelled(left, m.a)
    right, b_count = spelled(right, m.b)
    need(a_count == b_count, "one operand has more axes than the other", m.equation)
    out = out:gsub("%.%.%.", ("0123456789"):sub(1, a_count or 0))
    local a_list, a = letters(left)
    local b_list, b = letters(right)
    local out_list, result = letters(out)
    need(a_list and b_list and out_list, "a letter occurs twice in one term", m.equation)
    for _, letter in ipairs(out_list) do
      need(a[letter] or b[letter], "a letter of the result is in no operand", m.equation)
    end
    local batch, summed, own = sort(a_list, b, result)
    local b_batch, _, b_own = sort(b_list, a, result)
    need(batch and b_batch, "a letter that is in one operand only is summed over", m.equation)
    need(#summed == 1 and #own > 0 and #b_own > 0 and (#own == 1 or #b_own == 1),
      "the equation is not a product of matrices", m.equation)
    -- An Einsum broadcasts a size of 1 in a sum, a MatMul does not.
    local rows, columns = m.a:dim(a[summed[1]] - 1), m.b:dim(b[summed[1]] - 1)
    need(rows and (rows == columns or
      are_keys(m.a, a[summed[1]], rows, columns) or are_keys(m.b, b[summed[1]], columns, rows)),
      "the size that is summed over may be 1 in one operand only", m.equation)
    if rows ~= columns then assume("there are as many values as keys", m.equation) end
    -- The order of batch letters is free; this takes that of the result.
    batch = {}
    for _, letter in ipairs(out_list) do
      if a[letter] and b[letter] then batch[#batch + 1] = letter end
    end
    local a_more, row, b_axes = spread(m.a, own, result, #batch)
    local b_more, column, a_axes = spread(m.b, b_own, result, #batch)
    m.a_axes, m.b_axes = a_axes, b_axes
    m.a_perm = order(a, batch, a_more, row, summed)
    m.b_perm = order(b, batch, b_more, summed, column)
    local places, count = {}, 0
    for _, group in ipairs{batch, a_more, b_more, row, column} do
      for _, letter in ipairs(group) do
        count = count + 1
        places[letter] = count
      end
    end
    m.out_perm = order(places, out_list)
  end,

  rewrite = function(op, m)
    local function turned(x, perm) return perm and op.Transpose{x, perm = perm} or x end
    local function once(x, axes) return axes and op.Unsqueeze(x, axes) or x end
    local a, b = once(turned(m.a, m.a_perm), m.a_axes), once(turned(m.b, m.b_perm), m.b_axes)
    return turned(op.MatMul(a, b), m.out_perm)
  end,

  examples = {
    { "scores of heads", [[
        (float[2,4,8,16] q, float[2,4,6,16] k) => (float[2,4,8,6] y) {
          y = Einsum <equation = "bhid,bhjd->bhij"> (q, k)
        }]],
      "kt = Transpose <perm = [0,1,3,2]> (k) y = MatMul(q, kt)" },
    { "heads that come last, the result transposed", [[
        (float[8,2,4,16] q, float[6,2,4,16] k) => (float[2,4,6,8] y) {
          y = Einsum <equation = "ibnd, jbnd -> bnji"> (q, k)
        }]],
      [[qt = Transpose <perm = [1,2,0,3]> (q)
        kt = Transpose <perm = [1,2,3,0]> (k)
        s = MatMul(qt, kt)
        y = Transpose <perm = [0,1,3,2]> (s)]] },
    { "rows of one number", [[
        (float[2,4,8,1] q, float[2,4,6,D] k) => (float[2,4,8,6] y) {
          y = Einsum <equation = "bhid,bhjd->bhij"> (q, k)
        }]],
      rejected = "the size that is summed over may be 1" },
    { "one head of keys for all", [[
        (float[2,8,4,16] q, float[2,6,16] k) => (float[2,4,8,6] y) {
          y = Einsum <equation = "bihd,bjd->bhij"> (q, k)
        }]],
      [[qt = Transpose <perm = [0,2,1,3]> (q)
        kt = Transpose <perm = [0,2,1]> (k)
        one = Constant <value = int64[1] {1}> ()
        ku = Unsqueeze(kt, one)
        y = MatMul(qt, ku)]] },
    { "a softmax, and axes without a letter", [[
        (float[3,2,4,8,6] s, float[3,2,6,4,16] v) => (float[3,2,8,4,16] y) {
          p = Softmax <axis = -1> (s)
          y = Einsum <equation = "...hqk,...khd->...qhd"> (p, v)
        }]],
      [[p = Softmax <axis = -1> (s)
        vt = Transpose <perm = [0,1,3,2,4]> (v)
        o = MatMul(p, vt)
        y = Transpose <perm = [0,1,3,2,4]> (o)]] },
    { "a sum over both matrices", [[
        (float[2,4] a, float[2,4] b) => (float[2] y) {
          y = Einsum <equation = "ij,ij->i"> (a, b)
        }]],
      rejected = "the equation is not a product of matrices" },
  },
}
