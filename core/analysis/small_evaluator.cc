#include "core/analysis/small_evaluator.h"

#include <algorithm>

#include "core/ops/op_row.h"

namespace ruleengine::analysis {
namespace {

ops::Fold fold_of(const ir::Op& op) {
  if (!op.domain.empty() || !op.overload.empty()) return nullptr;
  const ops::OpRow* row = ops::find_row(op);
  return row == nullptr ? nullptr : row->fold;
}

// Broadcasting before opset 7 and string axes are beyond them.
constexpr std::int64_t kOldestOpset = 7;

}  // namespace

bool SmallEvaluator::can_evaluate(const ir::Graph& graph,
                                  ir::NodeId node) const {
  // What a call of the function passes is not known here.
  for (const ir::Attribute& a : graph.node(node).attributes) {
    if (!a.ref.empty()) return false;
  }
  if (graph.op(node).standard("Constant")) return true;
  if (fold_of(graph.op(node)) == nullptr) return false;
  return (opset_ != 0 ? opset_ : graph.model().opset("")) >= kOldestOpset;
}

Result<std::vector<const ir::Literal*>> SmallEvaluator::evaluate(
    ir::Graph& graph, ir::NodeId node,
    std::span<const ir::Literal* const> inputs) {
  const ops::Fold fold = fold_of(graph.op(node));
  const std::int64_t opset = opset_ != 0 ? opset_ : graph.model().opset("");
  if (fold != nullptr) {
    const ops::NodeView view(graph, node, opset);
    const std::int64_t most = limit_of(graph.op(node));
    if (ops::Folded out = fold({view, inputs, most})) {
      return *std::move(out);
    }
  }
  return Diagnostic{.what = "the node does not fold",
                    .where = graph.describe(node)};
}

// What an op makes out of nothing (a range, a mask of one number) is no weight:
// as a node it costs nothing, as a constant it would swell the file.
std::int64_t SmallEvaluator::limit_of(const ir::Op& op) const {
  constexpr std::int64_t kMade = 1 << 16;
  return ops::roles_of(op).makes ? std::min(limit_, kMade) : limit_;
}

const ir::Literal* SmallEvaluator::make_ints(
    Arena& arena, ir::DataType dtype, std::span<const std::int64_t> dims,
    std::span<const std::int64_t> values) const {
  const int bits = ir::bit_width(dtype);
  const auto width = static_cast<std::size_t>(bits / 8);
  const std::span<std::byte> bytes =
      arena.array<std::byte>(width * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t b = 0; b < width; ++b) {
      bytes[i * width + b] = static_cast<std::byte>(
          static_cast<std::uint64_t>(values[i]) >> (8 * b));
    }
  }
  ir::Literal t;
  t.dtype = dtype;
  t.dims = arena.copy(dims);
  t.bytes = bytes;
  return arena.make<ir::Literal>(t);
}

}  // namespace ruleengine::analysis
