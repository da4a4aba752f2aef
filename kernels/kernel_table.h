// KernelTable: the rows of kernels of a backend, by op. A row has `domain`
// ("" for the standard one) and `type`. The rows must outlive it. Constant once
// made; any thread may ask. Internal to kernels.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/preparation.h"

namespace ruleengine::kernels {

template <typename Row>
class KernelTable {
 public:
  // In the order that those of one op are asked in.
  template <typename Families>
  explicit KernelTable(const Families& families) {
    for (const auto* family : families) {
      for (const Row& each : *family) rows_.push_back(&each);
    }
    std::ranges::stable_sort(rows_, {}, key);
  }

  std::span<const Row* const> find(std::string_view domain,
                                   std::string_view type) const {
    if (domain == "ai.onnx") domain = "";
    const auto found =
        std::ranges::equal_range(rows_, std::tie(domain, type), {}, key);
    return {found.begin(), found.end()};
  }
  std::span<const Row* const> all() const { return rows_; }

 private:
  static auto key(const Row* row) { return std::tie(row->domain, row->type); }

  std::vector<const Row*> rows_;
};

// What the first row that takes a node makes of it, by make(row); where none
// does, declines the node with the reasons of all.
template <typename Row, typename Make>
auto first_taking(std::span<const Row* const> rows, const Make& make) {
  std::string reasons;
  for (const Row* each : rows) {
    try {
      return make(*each);
    } catch (const runtime::Declined& declined) {
      reasons += (reasons.empty() ? "" : "; ") + declined.reason;
    }
  }
  runtime::decline(std::move(reasons));
}

}  // namespace ruleengine::kernels
