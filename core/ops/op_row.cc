#include "core/ops/op_row.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/ops/families.h"
#include "core/ops/rules/name_hash.h"

namespace ruleengine::ops {
namespace {

// At most half full, so that a search ends after a probe or two.
constexpr std::size_t kSlots = 1024;

class Table {
 public:
  Table() {
    for (Family* family : standard::kFamilies) add(family());
    for (Family* family : dialect::kFamilies) add(family());
    std::ranges::sort(sorted_, {}, [](const OpRow* row) {
      return std::tie(row->domain, row->type);
    });
  }

  const OpRow* find(std::string_view domain, std::string_view type) const {
    return slots_[slot(domain, type)];
  }
  std::span<const OpRow* const> sorted() const { return sorted_; }

 private:
  // Where the op is, or an empty slot.
  std::size_t slot(std::string_view domain, std::string_view type) const {
    std::size_t at = name_hash(domain, type) % kSlots;
    while (slots_[at] != nullptr &&
           (slots_[at]->type != type || slots_[at]->domain != domain)) {
      at = (at + 1) % kSlots;
    }
    return at;
  }
  void add(std::span<const OpRow> rows) {
    for (const OpRow& row : rows) {
      slots_[slot(row.domain, row.type)] = &row;
      sorted_.push_back(&row);
    }
  }

  std::array<const OpRow*, kSlots> slots_ = {};
  std::vector<const OpRow*> sorted_;
};

const Table& table() {
  static const Table kTable;
  return kTable;
}

}  // namespace

const OpRow* find_row(std::string_view domain, std::string_view type) {
  return table().find(domain == "ai.onnx" ? std::string_view() : domain, type);
}

std::span<const OpRow* const> all_rows() { return table().sorted(); }

Roles roles_of(std::string_view domain, std::string_view type) {
  const OpRow* row = find_row(domain, type);
  return row != nullptr ? row->roles : Roles();
}

}  // namespace ruleengine::ops
