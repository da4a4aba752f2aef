#include <unordered_map>

#include "core/analysis/types/rules.h"

namespace ruleengine::analysis {
namespace {

struct Key {
  std::string_view domain, type;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const {
    const std::hash<std::string_view> hash;
    return hash(k.domain) * 31 + hash(k.type);
  }
};
using Table = std::unordered_map<Key, const TypeRule*, KeyHash>;

Table make() {
  Table out;
  for (const auto rules :
       {elementwise_rules(), linear_rules(), layout_rules(), indexing_rules(),
        reduction_rules(), generator_rules(), dialect_rules()}) {
    for (const TypeRule& r : rules) out.emplace(Key{r.domain, r.type}, &r);
  }
  return out;
}

}  // namespace

const TypeRule* find_type_rule(const ir::Op& op) {
  static const Table kTable = make();
  const auto at = kTable.find({op.domain, op.type});
  return at == kTable.end() ? nullptr : at->second;
}

}  // namespace ruleengine::analysis
