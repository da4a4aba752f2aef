#include "core/ops/op_family.h"

#include <algorithm>
#include <array>
#include <climits>
#include <vector>

#include "core/ops/op_facts.h"

namespace ruleengine::ir {
namespace {

struct Row {
  OpName op;
  OpFamily family;
};

constexpr OpFamily kElementwise = OpFamily::kElementwise;
constexpr OpFamily kReduction = OpFamily::kReduction;
constexpr OpFamily kView = OpFamily::kView;

constexpr Row kRows[] = {
    {{"", "Abs"}, kElementwise},
    {{"", "Acos"}, kElementwise},
    {{"", "Acosh"}, kElementwise},
    {{"", "Add"}, kElementwise},
    {{"", "And"}, kElementwise},
    {{"", "Asin"}, kElementwise},
    {{"", "Asinh"}, kElementwise},
    {{"", "Atan"}, kElementwise},
    {{"", "Atanh"}, kElementwise},
    {{"", "BitShift"}, kElementwise},
    {{"", "BitwiseAnd"}, kElementwise},
    {{"", "BitwiseNot"}, kElementwise},
    {{"", "BitwiseOr"}, kElementwise},
    {{"", "BitwiseXor"}, kElementwise},
    {{"", "Cast"}, kElementwise},
    {{"", "Ceil"}, kElementwise},
    {{"", "Celu"}, kElementwise},
    {{"", "Clip"}, kElementwise},
    {{"", "Cos"}, kElementwise},
    {{"", "Cosh"}, kElementwise},
    {{"", "Div"}, kElementwise},
    {{"", "Elu"}, kElementwise},
    {{"", "Equal"}, kElementwise},
    {{"", "Erf"}, kElementwise},
    {{"", "Exp"}, kElementwise},
    {{"", "Flatten"}, kView},
    {{"", "Floor"}, kElementwise},
    {{"", "Gelu"}, kElementwise},
    {{"", "Greater"}, kElementwise},
    {{"", "GreaterOrEqual"}, kElementwise},
    {{"", "HardSigmoid"}, kElementwise},
    {{"", "HardSwish"}, kElementwise},
    {{"", "Identity"}, kElementwise},
    {{"", "IsInf"}, kElementwise},
    {{"", "IsNaN"}, kElementwise},
    {{"", "LeakyRelu"}, kElementwise},
    {{"", "Less"}, kElementwise},
    {{"", "LessOrEqual"}, kElementwise},
    {{"", "Log"}, kElementwise},
    {{"", "Max"}, kElementwise},
    {{"", "Mean"}, kElementwise},
    {{"", "Min"}, kElementwise},
    {{"", "Mish"}, kElementwise},
    {{"", "Mod"}, kElementwise},
    {{"", "Mul"}, kElementwise},
    {{"", "Neg"}, kElementwise},
    {{"", "Not"}, kElementwise},
    {{"", "Or"}, kElementwise},
    {{"", "PRelu"}, kElementwise},
    {{"", "Pow"}, kElementwise},
    {{"", "Reciprocal"}, kElementwise},
    {{"", "ReduceL1"}, kReduction},
    {{"", "ReduceL2"}, kReduction},
    {{"", "ReduceLogSum"}, kReduction},
    {{"", "ReduceLogSumExp"}, kReduction},
    {{"", "ReduceMax"}, kReduction},
    {{"", "ReduceMean"}, kReduction},
    {{"", "ReduceMin"}, kReduction},
    {{"", "ReduceProd"}, kReduction},
    {{"", "ReduceSum"}, kReduction},
    {{"", "ReduceSumSquare"}, kReduction},
    {{"", "Relu"}, kElementwise},
    {{"", "Reshape"}, kView},
    {{"", "Round"}, kElementwise},
    {{"", "Selu"}, kElementwise},
    {{"", "Shrink"}, kElementwise},
    {{"", "Sigmoid"}, kElementwise},
    {{"", "Sign"}, kElementwise},
    {{"", "Sin"}, kElementwise},
    {{"", "Sinh"}, kElementwise},
    {{"", "Softplus"}, kElementwise},
    {{"", "Softsign"}, kElementwise},
    {{"", "Sqrt"}, kElementwise},
    {{"", "Squeeze"}, kView},
    {{"", "Sub"}, kElementwise},
    {{"", "Sum"}, kElementwise},
    {{"", "Swish"}, kElementwise},
    {{"", "Tan"}, kElementwise},
    {{"", "Tanh"}, kElementwise},
    {{"", "ThresholdedRelu"}, kElementwise},
    {{"", "Unsqueeze"}, kView},
    {{"", "Where"}, kElementwise},
    {{"", "Xor"}, kElementwise},
    {{"com.microsoft", "Gelu"}, kElementwise},
    {{"com.microsoft", "QuickGelu"}, kElementwise},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

// Elementwise ops of so many inputs; of a number that is left open, two too.
bool takes(const OpName& op, int inputs) {
  const OpFacts* facts = newest_op(op.domain, op.type);
  return facts != nullptr && facts->min_inputs <= inputs &&
         (facts->max_inputs == inputs ||
          (inputs == 2 && facts->max_inputs == INT_MAX));
}

std::vector<OpName> ops_of(OpFamily family, int inputs) {
  std::vector<OpName> out;
  for (const Row& row : kRows) {
    if (row.family != family || (inputs > 0 && !takes(row.op, inputs)))
      continue;
    out.push_back(row.op);
  }
  return out;
}

}  // namespace

OpFamily op_family(std::string_view domain, std::string_view type) {
  const OpName op{domain, type};
  const auto* at = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  const bool found = at != std::end(kRows) && at->op == op;
  return found ? at->family : OpFamily::kOther;
}

bool OpClass::has(std::string_view domain, std::string_view type) const {
  return std::ranges::binary_search(ops, OpName{domain, type});
}

std::span<const OpClass> op_classes() {
  static const auto kUnary = ops_of(OpFamily::kElementwise, 1);
  static const auto kBinary = ops_of(OpFamily::kElementwise, 2);
  static const auto kReductions = ops_of(OpFamily::kReduction, 0);
  static const auto kViews = ops_of(OpFamily::kView, 0);
  static const std::array<OpClass, 4> kClasses = {
      {{"elementwise_binary", kBinary},
       {"elementwise_unary", kUnary},
       {"reduction", kReductions},
       {"view", kViews}}};
  return kClasses;
}

const OpClass* find_op_class(std::string_view name) {
  for (const OpClass& each : op_classes()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string_view class_hint(std::string_view domain, std::string_view type) {
  if (!domain.empty() || find_op_class(type) == nullptr) return {};
  return "that is a class of ops, for `match`; give its node a name there, "
         ":as \"f\", and m.f:with(...) builds the same op again";
}

}  // namespace ruleengine::ir
