// Inference: the Facts of one graph, computed on demand and cached. A question
// about a value computes what the answer depends on and nothing else, without
// recursion, in time linear in what was not known yet. Edits are handled
// incrementally: invalidate(node) marks nodes, and the next question computes
// the marked nodes again, and the nodes that depend on them only while results
// change.
//
// Code that edits the graph must call invalidate for every node that was added
// or whose inputs or attributes changed, and, before the removal, for every
// node that is removed or popped. Answers are stored in the Model's arena and
// stay valid as long as it. Nothing here fails: a fact that cannot be inferred
// is unknown. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/facts.h"

namespace ruleengine::analysis {

struct InferenceOptions {
  // Constants with up to this many elements are computed, by the evaluator of
  // the model (a weight of 2048 by 2048); larger ones only fold if nothing is
  // computed (views, transposes, concatenations). All folded constants of a
  // model together are limited to 256 MiB.
  std::int64_t fold_limit = 1 << 22;
  // Uses the ONNX library for ops without a rule of ours. Building its registry
  // takes 30 ms, at the first such op.
  bool use_schemas = true;
  // Uses the types that the file declares for values between nodes.
  bool believe = true;
};

class Solver;

class Inference final : public ir::Facts {
 public:
  explicit Inference(ir::Graph& graph, InferenceOptions options = {});
  ~Inference() override;

  const ir::Type* type(ir::ValueId value) override;
  bool is_constant(ir::ValueId value) override;
  const ir::Literal* constant(ir::ValueId value) override;
  std::optional<std::span<const ir::Dim>> dims_of(ir::ValueId value) override;
  const ranks::Layout* layout(ir::ValueId value) override;
  void invalidate(ir::NodeId node) override;
  std::optional<std::string> refusal(ir::NodeId node) override;
  bool is_same_size(ir::Dim a, ir::Dim b) override;
  std::optional<std::string> contradiction(ir::ValueId value) override;
  bool has_contradictions() override;
  bool has_stale_sizes() override;
  std::optional<Doubt> doubt(std::span<const ir::ValueId> values) override;
  void settle_doubts() override;
  std::vector<std::string> take_warnings() override;

 private:
  std::unique_ptr<Solver> solver_;
};

}  // namespace ruleengine::analysis
