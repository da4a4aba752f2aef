--- Say an Einsum of two operands as the product that it is.

-- The letters of one operand, each once; nil for anything else.
local function letters(text)
  local list, places = {}, {}
  for letter in text:gmatch "." do
    if not letter:match "%a" or places[letter] then return nil end
    list[#list + 1] = letter
    places[letter] = #list
  end
  return list, places
end

-- Which of a's letters go where: in both operands and the result, summed over,
-- or in the result alone.
local function sort(list, other, result)
  local batch, summed, own = {}, {}, {}
  for _, letter in ipairs(list) do
    local to = not result[letter] and summed or other[letter] and batch or own
    if to == summed and not other[letter] then return nil end
    to[#to + 1] = letter
  end
  return batch, summed, own
end

-- The axes that bring `places` into this order; nil where they stand so.
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

return rule {
  doc = [[
    Einsum(a, b)   =>   Transpose(Transpose(a) Transpose(b))

    Where one letter is summed over, one is a's own and one b's own; all others are in both and in the result. The
    Transposes are there where axes move.]],
  phase = "canonical",

  match = function(op, a, b, equation) return op.Einsum{a, b, equation = equation} end,

  where = function(m)
    local left, right, out = m.equation:gsub("%s", ""):match "^(%a+),(%a+)%->(%a+)$"
    need(left, "the equation is of another form", m.equation)
    local a_list, a = letters(left)
    local b_list, b = letters(right)
    local out_list, result = letters(out)
    need(a_list and b_list and out_list, "a letter stands twice", m.equation)
    for _, letter in ipairs(out_list) do need(a[letter] or b[letter], "a letter comes from nowhere", m.equation) end
    local batch, summed, own = sort(a_list, b, result)
    local b_batch, _, b_own = sort(b_list, a, result)
    need(batch and b_batch, "a letter of one operand is summed over", m.equation)
    need(#summed == 1 and #own == 1 and #b_own == 1, "it is no product of matrices", m.equation)
    -- An Einsum repeats a size of 1, a product does not.
    local rows, columns = m.a:dim(a[summed[1]] - 1), m.b:dim(b[summed[1]] - 1)
    need((rows == 1) == (columns == 1), "the size that is summed over may be 1 on one side alone", m.equation)
    -- The result's order of what is in both is as good as any.
    batch = {}
    for _, letter in ipairs(out_list) do
      if a[letter] and b[letter] then batch[#batch + 1] = letter end
    end
    m.a_perm = order(a, batch, own, summed)
    m.b_perm = order(b, batch, summed, b_own)
    local places, made = {}, {batch, own, b_own}
    local count = 0
    for _, group in ipairs(made) do
      for _, letter in ipairs(group) do
        count = count + 1
        places[letter] = count
      end
    end
    m.out_perm = order(places, out_list)
  end,

  rewrite = function(op, m)
    local function turned(x, perm) return perm and op.Transpose{x, perm = perm} or x end
    return turned(op.MatMul(turned(m.a, m.a_perm), turned(m.b, m.b_perm)), m.out_perm)
  end,

  examples = {
    { "scores of heads", [[
        (float[2,4,8,16] q, float[2,4,6,16] k) => (float[2,4,8,6] y) {
          y = Einsum <equation = "bhid,bhjd->bhij"> (q, k)
        }]],
      "kt = Transpose <perm = [0,1,3,2]> (k) y = MatMul(q, kt)" },
    { "heads that come last, the result turned", [[
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
    { "a sum over both matrices", [[
        (float[2,4] a, float[2,4] b) => (float[2] y) {
          y = Einsum <equation = "ij,ij->i"> (a, b)
        }]],
      rejected = "it is no product of matrices" },
  },
}
