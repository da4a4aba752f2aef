#include "core/ops/op_family.h"

#include <algorithm>
#include <array>
#include <climits>
#include <vector>

#include "core/ops/op_facts.h"
#include "core/ops/op_row.h"

namespace ruleengine::ops {
namespace {

// Elementwise ops of so many inputs; of a number that is left open, two too.
bool takes(const OpName& op, int inputs) {
  const OpFacts* facts = newest_op(op.domain, op.type);
  return facts != nullptr && facts->min_inputs <= inputs &&
         (facts->max_inputs == inputs ||
          (inputs == 2 && facts->max_inputs == INT_MAX));
}

std::vector<OpName> ops_of(OpFamily family, int inputs) {
  std::vector<OpName> out;
  for (const OpRow* row : all_rows()) {
    const OpName op{row->domain, row->type};
    if (row->family != family || (inputs > 0 && !takes(op, inputs))) continue;
    out.push_back(op);
  }
  return out;
}

}  // namespace

OpFamily op_family(std::string_view domain, std::string_view type) {
  const OpRow* row = find_row(domain, type);
  return row != nullptr ? row->family : OpFamily::kOther;
}

bool OpClass::has(std::string_view domain, std::string_view type) const {
  return std::ranges::binary_search(ops, OpName{domain, type});
}

std::span<const OpClass> op_classes() {
  static const auto kOurs = [] {
    std::vector<OpName> out;
    for (const OpRow* row : all_rows()) {
      if (row->meaning != nullptr) out.push_back({row->domain, row->type});
    }
    return out;
  }();
  static const auto kUnary = ops_of(OpFamily::kElementwise, 1);
  static const auto kBinary = ops_of(OpFamily::kElementwise, 2);
  static const auto kReductions = ops_of(OpFamily::kReduction, 0);
  static const auto kViews = ops_of(OpFamily::kView, 0);
  static const std::array<OpClass, 5> kClasses = {
      {{"elementwise_binary", kBinary},
       {"elementwise_unary", kUnary},
       {"ours", kOurs},
       {"reduction", kReductions},
       {"view", kViews}}};
  return kClasses;
}

const OpClass* find_op_class(std::string_view name) {
  const auto all = op_classes();
  const auto at = std::ranges::find(all, name, &OpClass::name);
  return at != all.end() ? &*at : nullptr;
}

std::string_view class_hint(std::string_view domain, std::string_view type) {
  if (!domain.empty() || find_op_class(type) == nullptr) return {};
  return "that is a class of ops, for `match`; give its node a name there, "
         ":as \"f\", and m.f:with(...) builds the same op again";
}

}  // namespace ruleengine::ops
