--- Products in every order.
local product = {}

-- The patterns of a b; of a quotient too if one of the two is a number.
local function of_two(op, a, b)
  if type(a) == "number" then a, b = b, a end
  if type(b) == "number" then return op.Mul(a, b), op.Div(a, 1 / b) end
  return op.Mul(a, b)
end

-- The ways to cut the list into two parts, as pairs of lists; none is another with equal factors exchanged.
local function cuts(factors)
  local found, seen = {}, {}
  for chosen = 1, 2 ^ #factors - 2 do
    local sides, names = {{}, {}}, {"", ""}
    for i, factor in ipairs(factors) do
      local side = bit.band(chosen, 2 ^ (i - 1)) == 0 and 2 or 1
      local first = 1
      while not rawequal(factors[first], factor) do first = first + 1 end
      table.insert(sides[side], factor)
      names[side] = names[side] .. first .. " "
    end
    if not seen[names[1]] then
      seen[names[1]], seen[names[2]] = true, true
      found[#found + 1] = sides
    end
  end
  return found
end

--- The product of the factors, which are patterns or numbers, in every order: of a
--- factor with itself as a power too, by a number as a quotient too.
function product.of(op, factors)
  if #factors == 1 then return factors[1] end
  local ways, is_power = {}, true
  for _, factor in ipairs(factors) do is_power = is_power and rawequal(factor, factors[1]) end
  if is_power then ways[1] = op.Pow(factors[1], #factors) end
  for _, sides in ipairs(cuts(factors)) do
    for _, way in ipairs{of_two(op, product.of(op, sides[1]), product.of(op, sides[2]))} do ways[#ways + 1] = way end
  end
  return #ways == 1 and ways[1] or either(unpack(ways))
end

return product
