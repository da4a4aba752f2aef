#include "core/pattern/text.h"

#include <fmt/format.h>

namespace ruleengine::pattern {
std::string literal_text(const AttributePattern& a) {
  using Kind = AttributePattern::Kind;
  switch (a.kind) {
    case Kind::kInt:
      return fmt::format("{}", a.i);
    case Kind::kFloat:
      return fmt::format("{}", a.f);
    case Kind::kString:
      return fmt::format("\"{}\"", printable(a.s));
    case Kind::kInts:
      return fmt::format("[{}]", fmt::join(a.ints, ", "));
    case Kind::kFloats:
      return fmt::format("[{}]", fmt::join(a.floats, ", "));
    case Kind::kStrings:
      return fmt::format("[{}]", fmt::join(a.strings, ", "));
    case Kind::kVariable:
    case Kind::kAny:
      break;
  }
  return {};
}

}  // namespace ruleengine::pattern
