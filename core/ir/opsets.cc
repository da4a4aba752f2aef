#include "core/ir/opsets.h"

#include <utility>

#include "core/ir/op.h"

namespace ruleengine::ir {
namespace {

// Lists up to this length, nearly all, are searched linearly.
constexpr std::size_t kShort = 8;

}  // namespace

OpsetImports::OpsetImports(std::initializer_list<OpsetImport> all) {
  for (const OpsetImport& each : all) push_back(each);
}

std::size_t OpsetImports::find(std::string_view domain) const {
  domain = normalized(domain);
  if (!index_.empty()) {
    const auto at = index_.find(std::string(domain));
    return at == index_.end() ? all_.size() : at->second;
  }
  std::size_t i = 0;
  while (i < all_.size() && normalized(all_[i].domain) != domain) ++i;
  return i;
}

std::int64_t OpsetImports::version(std::string_view domain) const {
  const std::size_t at = find(domain);
  return at < all_.size() ? all_[at].version : 0;
}

void OpsetImports::push_back(OpsetImport import) {
  all_.push_back(std::move(import));
  if (all_.size() <= kShort) return;
  if (index_.empty()) {
    for (std::size_t i = 0; i + 1 < all_.size(); ++i) index(i);
  }
  index(all_.size() - 1);
}

void OpsetImports::index(std::size_t i) {
  index_.emplace(std::string(normalized(all_[i].domain)), i);
}

}  // namespace ruleengine::ir
