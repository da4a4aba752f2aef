-- expect: the rule file is too large
local text = ("x"):rep(1e7)
local examples = {}
for i = 1, 1000 do examples[i] = {"title", text, text} end
return rule {
  match = function(op, x) return op.Relu(x) end,
  rewrite = function(op, m) end,
  examples = examples,
}
