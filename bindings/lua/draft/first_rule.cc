#include <algorithm>
#include <cctype>

#include "bindings/lua/draft.h"

namespace ruleengine::lua {

std::string first_rule() {
  return R"lua(-- Change the equation, the four parts below it, and the examples.
-- `ruleengine test` runs them; `ruleengine docs WORD` explains a word.
return rule {
  doc   = [[ max(x, c)   =>   Relu(x)   where c is 0 ]],
  match = function(op, x, c) return op.Max(x, c) end,
  where = function(m)
    local c = need(m.c:scalar(), "the other operand is not one constant", m.c)
    need(c == 0, "the other operand is not 0", m.c)
  end,
  rewrite = function(op, m) return op.Relu(m.x) end,
  examples = {
    { "zero", [[
        (float[N,3] x) => (float[N,3] y) <float c = {0.0}> {
          y = Max(x, c)
        }]], "y = Relu(x)" },
    { "another number", [[
        (float[N,3] x) => (float[N,3] y) <float c = {1.0}> {
          y = Max(x, c)
        }]], rejected = "the other operand is not 0" },
    { "no constant", [[
        (float[N,3] x, float c) => (float[N,3] y) {
          y = Max(x, c)
        }]], rejected = "the other operand is not one constant" },
  },
}
)lua";
}

std::string op_of_rule(std::string_view name) {
  std::string out;
  bool is_first = true;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0) {
      is_first = true;
      continue;
    }
    out += is_first ? static_cast<char>(std::toupper(byte)) : c;
    is_first = false;
  }
  return out;
}

}  // namespace ruleengine::lua
