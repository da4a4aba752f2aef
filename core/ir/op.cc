#include "core/ir/op.h"

#include <functional>

namespace ruleengine::ir {
std::string Op::text() const {
  std::string out;
  if (!domain.empty()) out.append(domain).append("::");
  out.append(type);
  if (!overload.empty()) out.append(":").append(overload);
  return out;
}

std::size_t Op::Hash::operator()(const Op& op) const {
  const std::hash<std::string_view> h;
  return (h(op.type) * 31 + h(op.domain)) * 31 + h(op.overload);
}

OpId OpTable::intern(std::string_view domain, std::string_view type,
                     std::string_view overload) {
  domain = normalized(domain);
  if (auto it = ids_.find(Op{domain, type, overload}); it != ids_.end()) {
    return it->second;
  }
  const Op op{arena_.copy(domain), arena_.copy(type), arena_.copy(overload)};
  const OpId id(ops_.size());
  ops_.push_back(op);
  ids_.emplace(op, id);
  return id;
}

OpId OpTable::find(std::string_view domain, std::string_view type,
                   std::string_view overload) const {
  auto it = ids_.find(Op{normalized(domain), type, overload});
  return it == ids_.end() ? OpId() : it->second;
}

}  // namespace ruleengine::ir
