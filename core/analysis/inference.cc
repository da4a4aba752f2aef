#include "core/analysis/inference.h"

#include <algorithm>
#include <utility>

#include "core/analysis/solver/solver.h"

namespace ruleengine::analysis {

Inference::Inference(ir::Graph& graph, InferenceOptions options)
    : solver_(std::make_unique<Solver>(graph, options)) {}

Inference::~Inference() = default;

const ir::Type* Inference::type(ir::ValueId value) {
  return value ? solver_->answer(value, Ask::kType).type : nullptr;
}

bool Inference::is_constant(ir::ValueId value) {
  if (!value) return false;
  switch (solver_->answer(value, Ask::kOrigin).origin) {
    case Origin::kRuntime:
    case Origin::kBeyond:
      return false;
    case Origin::kConstant:
      return !solver_->out_of_budget() || constant(value) != nullptr;
    case Origin::kShape:
      return constant(value) != nullptr;
  }
  return false;
}

const ir::Literal* Inference::constant(ir::ValueId value) {
  return value ? solver_->answer(value, Ask::kConstant).constant : nullptr;
}

std::optional<std::span<const ir::Dim>> Inference::dims_of(ir::ValueId value) {
  if (!value) return std::nullopt;
  const Memo& memo = solver_->answer(value, Ask::kElements);
  if (memo.elements == nullptr || memo.type->rank() > 1) return std::nullopt;
  const auto all = memo.element_span();
  const bool is_known = std::ranges::count(all, kUnknown) == 0;
  return is_known ? std::optional(all) : std::nullopt;
}

const ranks::Layout* Inference::layout(ir::ValueId value) {
  return value ? solver_->answer(value, Ask::kLayout).layout : nullptr;
}

void Inference::invalidate(ir::NodeId node) { solver_->invalidate(node); }

std::optional<std::string> Inference::refusal(ir::NodeId node) {
  return solver_->refusal(node);
}

bool Inference::is_same_size(ir::Dim a, ir::Dim b) {
  return a == b || solver_->same_sizes.contains(std::minmax(a, b));
}

std::optional<std::string> Inference::contradiction(ir::ValueId value) {
  const auto at = solver_->contradictions.find(value.index());
  return at == solver_->contradictions.end() ? std::nullopt
                                             : std::optional(at->second);
}

bool Inference::has_contradictions() {
  return !solver_->contradictions.empty();
}

bool Inference::has_stale_sizes() { return solver_->has_stale_sizes(); }

std::optional<ir::Facts::Doubt> Inference::doubt(
    std::span<const ir::ValueId> values) {
  const ir::NodeId node = solver_->doubted_above(values);
  if (!node) return std::nullopt;
  return Doubt{node, "no size that is computed for a Reshape is 0"};
}

void Inference::settle_doubts() { solver_->settle_doubts(); }

std::vector<std::string> Inference::take_warnings() {
  return std::exchange(solver_->warnings, {});
}

}  // namespace ruleengine::analysis
