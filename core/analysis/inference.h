// Inference: the Facts of one graph, worked out on demand and remembered.
// Asking for a value works out what it rests on and nothing else, without
// recursion, in time linear in what was not known yet. Edits are followed
// incrementally: invalidate(node) marks, and the next question works the marked
// nodes out again, going on below a node only while its results change.
//
// Whoever edits the graph calls invalidate for every node that was added, whose
// inputs or attributes changed, and, before it is taken out, for every node
// that is removed or popped. Answers lie in the Model's arena and stay until it
// dies. Nothing here fails: what cannot be said is unknown. Not thread-safe.
#ifndef RULEENGINE_CORE_ANALYSIS_INFERENCE_H_
#define RULEENGINE_CORE_ANALYSIS_INFERENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/evaluator.h"
#include "core/ir/facts.h"

namespace ruleengine::analysis {

struct InferenceOptions {
  // Constants up to this many elements are computed, a weight of 2048 by 2048;
  // larger ones only fold where nothing is computed (views, transposes,
  // concatenations). Of one model 256 MiB are computed in all.
  std::int64_t fold_limit = 1 << 22;
  // Ask the ONNX library where no rule of ours knows the op. Its registry
  // takes 30 ms to build, at the first such question.
  bool use_schemas = true;
  // Our own rules for types; off only to compare the two.
  bool use_rules = true;
  // Asked after the small built-in one; must outlive the Inference.
  Evaluator* evaluator = nullptr;
};

// Whether the result of an op is as large as all its inputs together, each
// stretched to the others.
bool broadcasts(const ir::Op& op);

class Solver;

class Inference final : public ir::Facts {
 public:
  explicit Inference(ir::Graph& graph, InferenceOptions options = {});
  ~Inference() override;

  const ir::Type* type(ir::ValueId value) override;
  bool is_constant(ir::ValueId value) override;
  const ir::Tensor* constant(ir::ValueId value) override;
  std::optional<std::span<const ir::Dim>> dims_of(ir::ValueId value) override;
  const ranks::Layout* layout(ir::ValueId value) override;
  void invalidate(ir::NodeId node) override;
  std::optional<std::string> refusal(ir::NodeId node) override;
  std::optional<std::string> contradiction(ir::ValueId value) override;
  bool has_contradictions() override;
  bool has_stale_sizes() override;
  std::vector<std::string> take_warnings() override;

 private:
  std::unique_ptr<Solver> solver_;
};

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_INFERENCE_H_
