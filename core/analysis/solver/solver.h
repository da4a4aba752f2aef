// Solver: works out questions about values (memo.h) on demand, each once, with
// an explicit stack, and again after edits while answers change. The engine
// behind Inference; see there for the contract. Internal to core/analysis.
#ifndef RULEENGINE_CORE_ANALYSIS_SOLVER_SOLVER_H_
#define RULEENGINE_CORE_ANALYSIS_SOLVER_SOLVER_H_

#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/analysis/kernels/small_evaluator.h"
#include "core/analysis/solver/memo.h"
#include "core/analysis/types/rules.h"
#include "core/analysis/types/type_pool.h"
#include "core/ir/by_op.h"

namespace ruleengine::analysis {

// What a model-local function's body is worked out with.
struct CallContext {
  std::span<const ir::Attribute> attributes;  // of the call
  std::span<const ir::Attribute> defaults;    // of the function
  std::vector<const ir::Type*> types;         // of the formal inputs
  std::vector<std::vector<ir::Dim>> elements;
  std::vector<const ir::Tensor*> constants;
  const ir::OpsetImports* opsets = nullptr;
  int depth = 0;
};

class Solver {
 public:
  Solver(ir::Graph& graph, InferenceOptions options,
         const CallContext* call = nullptr);

  // Works the question out, after what edits left to do.
  const Memo& answer(ir::ValueId value, Ask ask);
  void invalidate(ir::NodeId node);
  std::optional<std::string> refusal(ir::NodeId node);
  bool has_stale_sizes();

  // What is known already, for rules.
  const Memo& known(ir::ValueId value) const;
  bool done(ir::ValueId value, Ask ask) const;

  ir::Graph& graph() const { return graph_; }
  ir::Model& model() const { return graph_.model(); }
  const InferenceOptions& options() const { return options_; }
  const CallContext* call() const { return call_; }
  std::int64_t opset(std::string_view domain) const;

  // The unknown that a broadcast of these two gives: the same for all.
  ir::Dim pair_unknown(ir::Dim a, ir::Dim b);

  // The tensor's elements as Dims (at most kMaxElements), or none.
  MaybeElements elements_of(const ir::Tensor& tensor) const;

  // Function bodies are looked at anew for each call, up to a number of nodes
  // below one call of the graph and in all: true when that is used up.
  bool spend(std::size_t nodes);
  void share_budget(const Solver& caller) { used_ = caller.used_; }
  void take_budget(const Solver& body) { used_ = body.used_; }
  bool out_of_budget() const;
  // An unknown that this Solver made up for an axis.
  bool is_own_unknown(ir::Dim d) const;

  std::vector<std::string> warnings;
  // By value: "'x' is declared as ... but inferred as ...".
  std::unordered_map<std::uint32_t, std::string> contradictions;

 private:
  State& state(const Query& q);
  void grow();
  bool look_for_stale();
  void run(const Query& root);
  // Works out what is marked, up to this rank, which nothing above depends on.
  void refresh(std::uint64_t most = kLast);
  std::uint64_t last_that_matters(ir::ValueId value);
  bool is_in_order(ir::NodeId node) const;
  void renumber_marked();
  void mark(ir::NodeId node);
  void mark_users(ir::ValueId value);
  void mark_block_owners(ir::ValueId value);

  // Pushes what `q` still needs; true when there was anything.
  bool prepare(const Query& q);
  void prepare_type(ir::NodeId node);
  void prepare_values(ir::NodeId node);
  void prepare_origin(ir::NodeId node);
  void prepare_constant(const Query& q);
  void prepare_elements(const Query& q);
  void prepare_layout(ir::ValueId value);
  void need(ir::ValueId value, Ask ask);

  // True when the answer differs from the one before.
  bool compute(const Query& q);
  bool compute_type(ir::ValueId value);
  bool compute_origin(ir::ValueId value);
  bool compute_constant(ir::ValueId value);
  bool compute_elements(ir::ValueId value);
  bool compute_layout(ir::ValueId value);
  std::optional<ranks::Layout> layout_by_operands(ir::ValueId value) const;
  std::optional<ranks::Layout> layout_by_readers(
      ir::ValueId value, std::optional<ranks::Layout> otherwise);
  void mark_sent(ir::NodeId collective);
  void refresh_sent();
  bool set_type(ir::ValueId value, const Inferred* inferred);
  const ir::Tensor* fold(ir::ValueId value);
  const ir::Tensor* from_elements(ir::ValueId value);
  std::vector<const ir::Tensor*> evaluate(ir::NodeId node);
  void account(const std::vector<const ir::Tensor*>& results);
  // Valid until the next call.
  std::span<const Inferred> infer(ir::NodeId node);
  bool declared_in_full(ir::NodeId node) const;
  Origin origin_of_node(ir::NodeId node) const;
  bool is_beyond(ir::NodeId node);
  void say_beyond(ir::ValueId value);

  bool can_evaluate(ir::NodeId node) const;
  bool followable(ir::ValueId value) const;
  ir::Dim axis_unknown(ir::ValueId value, std::size_t axis);
  const ir::Type* merge(ir::ValueId value, const Inferred& inferred);
  const ir::Type* of_this_body(ir::ValueId value);
  ir::Dim merge_dim(ir::ValueId value, ir::Dim declared, ir::Dim inferred,
                    bool& clash);
  const std::vector<ir::Dim>& anchors();
  bool inputs_vary() { return anchors().size() > 1; }
  bool anchored(ir::Dim d);
  bool tells_more(ir::Dim declared, ir::Dim inferred) const;
  void contradict(ir::ValueId value, const ir::Type& declared,
                  const Inferred& found);

  struct OpRules {
    bool looked_up = false;
    const TypeRule* type = nullptr;
    const ElementRule* elements = nullptr;
    bool computes = false;
  };
  const OpRules& rules_of(ir::OpId op);

  ir::Graph& graph_;
  InferenceOptions options_;
  const CallContext* call_;
  SmallEvaluator small_;
  TypePool types_;
  std::vector<Memo> memos_;
  std::vector<Query> stack_;
  std::vector<Inferred> inferred_;  // by infer(), for its memory
  ir::ByOp<OpRules> op_rules_;
  std::unordered_map<std::uint64_t, ir::Dim> axis_unknowns_;
  std::map<std::pair<ir::Dim, ir::Dim>, ir::Dim> pair_unknowns_;
  std::unordered_set<std::uint32_t> warned_;
  std::vector<ir::Dim> anchors_;
  bool stale_ = false;  // some number in the file is that of another input
  bool looked_for_stale_ = false;
  std::vector<ir::NodeId> unlooked_;  // edited since somebody looked
  // Values of the file of which a declared number was taken where nothing could
  // be inferred: unknown, once a number of this file proves wrong. Edits hand
  // declarations on that were believed.
  std::vector<ir::ValueId> fillers_;
  std::size_t file_values_;
  bool said_beyond_ = false;
  std::size_t used_ = 0, used_before_ = 0;  // nodes of function bodies
  static constexpr std::uint64_t kLast = ~std::uint64_t{0};
  // Edited since ranks were last known to rise along all edges, and after that
  // those behind a node that they read.
  std::vector<ir::NodeId> edited_;
  // What each collective sent when that value's layout was worked out, and the
  // values that another collective may send since.
  std::unordered_map<std::uint32_t, ir::ValueId> sent_;
  std::vector<ir::ValueId> resent_;
  // Nodes to look at again, lowest rank first, by the ranks of `numbering_`.
  std::uint64_t numbering_ = 0;
  using Marked = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Marked, std::vector<Marked>, std::greater<>> marked_;
  // The node marked last, while nothing was worked out since.
  ir::NodeId last_marked_;
};

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_SOLVER_SOLVER_H_
