#include "bindings/lua/draft.h"
#include "bindings/lua/words/words.h"

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

Result<std::string> op_of_rule(std::string_view name) {
  std::string out;
  bool begins = true;  // a part of the name
  bool is_name = true;
  for (const char c : name) {
    const bool is_small = c >= 'a' && c <= 'z';
    const bool is_known = is_small || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_';
    is_name = is_name && is_known;
    if (c != '_') {
      out += is_small && begins ? static_cast<char>(c - 'a' + 'A') : c;
    }
    begins = c == '_';
  }
  if (is_name && is_lua_name(out)) return out;
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "this is no name of a rule",
                    .expected = "letters, digits and _, a letter first",
                    .found = printable(name, 60)};
}

}  // namespace ruleengine::lua
