--- Count in integers what is counted in floats.
local EXACT = 2 ^ 24

local function whole(v)
  local number = need(v:scalar(), "a limit is not constant", v)
  return need(number % 1 == 0 and math.abs(number) < EXACT and number, "a limit is not a small whole number", v)
end

return rule {
  doc = [[
    Range(a, cast(n), d)   =>   cast(Range(a, n, d))   where n is an integer, a and d are constant and whole

    The number of places is then known by name. Floats count exactly up to 2^24.]],
  phase = "canonical",

  match = function(op, n, start, step)
    n:type("int64", "int32")
    return op.Range(start, op.Cast{n, to = any}:as "cast":type("float", "double"), step)
  end,

  where = function(m)
    m.from, m.by = whole(m.start), whole(m.step)
    assume("counted numbers are below 16,777,216", m.n)
  end,

  rewrite = function(op, m)
    return m.cast:with(op.Range(m.from, m.n, m.by))
  end,

  examples = {
    { "positions", [[
        (int64 n) => (float[?] y) <float zero = {0.0}, float one = {1.0}> {
          f = Cast <to = 1> (n)
          y = Range(zero, f, one)
        }]],
      [[first = Constant <value = int64 {0}> ()
        by = Constant <value = int64 {1}> ()
        r = Range(first, n, by)
        y = Cast <to = 1> (r)]], assumed = "counted numbers are below 16,777,216" },
    { "from a half", [[
        (int64 n) => (float[?] y) <float half = {0.5}, float one = {1.0}> {
          f = Cast <to = 1> (n)
          y = Range(half, f, one)
        }]],
      rejected = "a limit is not a small whole number" },
    { "from a number of the model", [[
        (int64 n, float from) => (float[?] y) <float one = {1.0}> {
          f = Cast <to = 1> (n)
          y = Range(from, f, one)
        }]],
      rejected = "a limit is not constant" },
  },
}
