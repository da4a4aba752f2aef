#include "core/ops/op_row.h"

#include <algorithm>
#include <tuple>

#include "core/ops/families.h"
#include "core/ops/rules/name_table.h"

namespace ruleengine::ops {
namespace {

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
    return by_name_.find(domain, type);
  }
  std::span<const OpRow* const> sorted() const { return sorted_; }

 private:
  void add(std::span<const OpRow> rows) {
    for (const OpRow& row : rows) {
      by_name_.set(row);
      sorted_.push_back(&row);
    }
  }

  NameTable<OpRow> by_name_;
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
