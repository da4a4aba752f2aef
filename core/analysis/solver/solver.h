// Solver: answers questions about values on demand, each once, with an explicit
// stack, and again after edits while answers change. The implementation of
// Inference, which has the contract. Internal to core/analysis. Not
// thread-safe.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/base/arena.h"
#include "core/ir/by_op.h"
#include "core/ir/shapes.h"
#include "core/ops/op_row.h"
#include "core/ranks/layout.h"

namespace ruleengine::analysis {

using ops::Dims;
using ops::Inferred;
using ops::kMaxElements;
using ops::kUnknown;
using ops::MaybeElements;
using ops::NodeView;
using ops::Outputs;

// The questions about one value. A question depends on others about the inputs
// of its node; also kConstant depends on kOrigin, kElements on both and on
// kType, and kLayout on kType and kOrigin, and on which collectives read the
// value.
enum class Ask : std::uint8_t { kType, kOrigin, kConstant, kElements, kLayout };
inline constexpr std::size_t kAsks = 5;

enum class State : std::uint8_t {
  kNever,
  kOpen,  // on the stack
  kDone,
  kStale,      // the answer is from before an edit
  kStaleOpen,  // the same, and on the stack
};

// What a value depends on, by structure and sizes only.
enum class Origin : std::uint8_t {
  kRuntime,
  kBeyond,    // on constants only, but it is too large to compute
  kConstant,  // on constants only: it folds
  kShape,     // on shapes and constants: it folds if those shapes are known
};

struct Memo {
  const ir::Type* type = nullptr;
  const ir::Literal* constant = nullptr;
  const ir::Dim* elements = nullptr;  // nullptr: not tracked
  std::uint8_t element_count = 0;
  const ranks::Layout* layout = nullptr;  // nullptr: unknown
  Origin origin = Origin::kRuntime;
  // The declared type of this value, or of one that it is computed from,
  // contradicts the inferred one.
  bool clashes = false;
  std::array<State, kAsks> state = {};

  std::span<const ir::Dim> element_span() const {
    return {elements, element_count};
  }
};

struct Query {
  ir::ValueId value;
  Ask ask = Ask::kType;
};

// Equal types as one object, in the arena of a Model, so that many values of
// one type cost one Type.
class TypePool {
 public:
  explicit TypePool(Arena& arena) : arena_(&arena) {}

  // The Type equal to `type`, whose views are copied when it is new.
  const ir::Type* intern(const ir::Type& type) {
    if (const auto at = types_.find(&type); at != types_.end()) return *at;
    ir::Type copy = type;
    copy.dims = arena_->copy(type.dims);
    copy.other = arena_->copy(type.other);
    return *types_.insert(arena_->make<ir::Type>(copy)).first;
  }

 private:
  struct Hash {
    std::size_t operator()(const ir::Type* t) const {
      std::uint64_t h = static_cast<std::uint64_t>(t->elem) * 2 + t->has_shape;
      for (ir::Dim d : t->dims) {
        const auto raw = d.known() ? static_cast<std::uint64_t>(d.size())
                                   : ~static_cast<std::uint64_t>(d.id());
        h = (h ^ raw) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
      }
      for (std::byte b : t->other) h = h * 131 + static_cast<unsigned>(b);
      return h;
    }
  };
  struct Equal {
    bool operator()(const ir::Type* a, const ir::Type* b) const {
      return same_type(*a, *b);
    }
  };

  Arena* arena_;
  std::unordered_set<const ir::Type*, Hash, Equal> types_;
};

// The call for which a function body is inferred.
struct CallContext : ops::CallAttributes {
  // What it gives to a formal input.
  struct Given {
    const ir::Type* type = nullptr;
    const ir::Literal* constant = nullptr;
    MaybeElements elements;
  };
  std::vector<Given> inputs;
  const ir::OpsetImports* opsets = nullptr;
  int depth = 0;
};

class Solver final : public ops::Known {
 public:
  Solver(ir::Graph& graph, InferenceOptions options,
         const CallContext* call = nullptr);

  // Answers the question, after refreshing what edits invalidated.
  const Memo& answer(ir::ValueId value, Ask ask);
  // For undoing too, which destructors do. Where memory runs out, the next
  // answer throws std::bad_alloc, and so do all that follow.
  void invalidate(ir::NodeId node) noexcept;
  std::optional<std::string> refusal(ir::NodeId node);
  bool has_stale_sizes();

  // Decides before the first edit which types are in doubt (solver_doubts.cc);
  // types that are computed later are held against what it found.
  void settle_doubts();
  bool has_doubts() const { return !doubted_.empty(); }
  // One that some of `values` depend on; an invalid node if there is none.
  ir::NodeId doubted_above(std::span<const ir::ValueId> values) const;

  // The answers so far, for rules.
  const Memo& known(ir::ValueId value) const;
  bool done(ir::ValueId value, Ask ask) const;
  const ir::Type* type(ir::ValueId value) const override;
  std::optional<std::span<const ir::Dim>> elements(
      ir::ValueId value) const override;
  const ir::Literal* constant(ir::ValueId value) const override;
  NodeView view(ir::NodeId node);

  ir::Graph& graph() const { return graph_; }
  ir::Model& model() const { return graph_.model(); }
  const InferenceOptions& options() const { return options_; }
  const CallContext* call() const { return call_; }
  // What the call gives to a formal input; nullptr for other values.
  const CallContext::Given* given(ir::ValueId value) const;
  std::int64_t opset(std::string_view domain) const;

  // The unknown size of the broadcast of these two sizes; the same one each
  // time.
  ir::Dim pair_unknown(ir::Dim a, ir::Dim b) override;
  void equate(ir::Dim a, ir::Dim b) override {
    same_sizes.insert(std::minmax(a, b));
  }

  // The elements of the tensor as Dims (at most kMaxElements), or none.
  MaybeElements elements_of(const ir::Literal& tensor) const;

  // Function bodies are inferred again for each call, up to a number of nodes
  // for each call of the graph and in total: true if that is used up.
  bool spend(std::size_t nodes);
  void take_budget(const Solver& from) { used_ = from.used_; }
  bool out_of_budget() const;
  // Whether this Solver made the unknown for an axis.
  bool is_own_unknown(ir::Dim d) const;

  std::vector<std::string> warnings;
  // By value: "'x' is declared as ... but inferred as ...".
  std::unordered_map<std::uint32_t, std::string> contradictions;
  // Sizes of which both were declared or inferred for the same axis.
  std::set<std::pair<ir::Dim, ir::Dim>> same_sizes;

 private:
  State& state(const Query& q);
  void grow();
  bool look_for_stale();
  void run(const Query& root);
  // Computes marked nodes again, up to this rank.
  void refresh(std::uint64_t most = kLast);
  std::uint64_t last_that_matters(ir::ValueId value);
  bool is_in_order(ir::NodeId node) const;
  void renumber_marked();
  void mark(ir::NodeId node);
  void mark_users(ir::ValueId value);
  void mark_block_owners(ir::ValueId value);

  // Pushes the questions that `q` depends on and that are not answered; true if
  // there were any.
  bool prepare(const Query& q);
  void prepare_type(ir::NodeId node);
  void prepare_values(ir::NodeId node);
  void prepare_origin(ir::NodeId node);
  void prepare_constant(const Query& q);
  void prepare_elements(const Query& q);
  void prepare_layout(ir::ValueId value);
  void need(ir::ValueId value, Ask ask);

  // True if the answer differs from the one before.
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
  const ir::Literal* fold(ir::ValueId value);
  const ir::Literal* from_elements(ir::ValueId value);
  ops::Literals evaluate(ir::NodeId node);
  struct OpRules;
  bool is_large(ir::NodeId node, const OpRules& rules,
                std::span<const ir::Literal* const> inputs);
  ops::Literals compute(ir::NodeId node,
                        std::span<const ir::Literal* const> inputs,
                        std::int64_t most);
  const ir::Literal* kept(const ir::Literal& computed,
                          const std::shared_ptr<const void>& owner);
  const ir::Literal* deferred(ir::NodeId node, const ops::Literals& inputs);
  bool can_defer(ir::NodeId node, const OpRules& rules);
  std::int64_t fold_limit(const OpRules& rules) const;
  // Valid until the next call.
  std::span<const Inferred> infer(ir::NodeId node);
  bool declared_in_full(ir::NodeId node) const;
  Origin origin_of_node(ir::NodeId node);
  bool is_beyond(ir::NodeId node);
  // The elements of a tensor, where their number is known.
  std::optional<std::int64_t> count_of(ir::ValueId value) const {
    return ir::known_count(known(value).type);
  }
  bool has_more(ir::ValueId value, std::int64_t most) const {
    return count_of(value).value_or(0) > most;
  }
  void say_beyond(ir::ValueId value);

  bool can_evaluate(ir::NodeId node);
  bool followable(ir::ValueId value) const;
  ir::Dim axis_unknown(ir::ValueId value, std::size_t axis);
  const ir::Type* merge(ir::ValueId value, const Inferred& inferred);
  bool is_below_clash(ir::ValueId value) const;
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
    const ops::OpRow* row = nullptr;  // nullptr: not looked up
    const ops::TypeRule* type = nullptr;
    const ops::ElementRule* elements = nullptr;
    bool folds = false;

    const ops::Roles& roles() const { return row->roles; }
  };
  const OpRules& rules_of(ir::OpId op);

  template <class F>
  void visit_above(std::span<const ir::ValueId> values, const F& f) const;
  std::optional<std::set<ir::Dim>> names_in_doubt(ir::NodeId node);
  bool may_copy(ir::NodeId node, const std::map<ir::Dim, ir::Dim>& by);
  bool fails(const std::map<ir::Dim, ir::Dim>& by);
  bool is_wrong_somewhere(ir::NodeId node);
  void note_doubt(ir::NodeId node, bool is_doubted);

  ir::Graph& graph_;
  InferenceOptions options_;
  const CallContext* call_;
  TypePool types_;
  std::vector<Memo> memos_;
  std::vector<Query> stack_;
  std::vector<Inferred> inferred_;  // by infer(), to reuse memory
  ir::ByOp<OpRules> op_rules_;
  std::unordered_map<std::uint64_t, ir::Dim> axis_unknowns_;
  // The unknown sizes of broadcasts, and of which sizes each one is.
  static constexpr std::size_t kMostSizes = 8;
  std::map<std::set<ir::Dim>, ir::Dim> broadcast_unknowns_;
  std::map<ir::Dim, std::set<ir::Dim>> broadcasts_;
  std::unordered_set<std::uint32_t> warned_;
  // Nodes whose type may be wrong where sizes are 0; once settled, only those
  // that no failure of the model excludes.
  std::set<ir::NodeId> doubted_;
  bool settled_doubts_ = false;
  // By what names are replaced with: whether the model cannot run then.
  std::map<std::map<ir::Dim, ir::Dim>, bool> fails_;
  std::set<ir::Dim> names_in_doubt_;       // of all nodes, when it was settled
  std::map<ir::Dim, ir::Dim> beside_one_;  // name: an unknown size, less one
  std::vector<ir::Dim> anchors_;
  bool stale_ = false;  // whether a number in the file is wrong
  bool looked_for_stale_ = false;
  std::vector<ir::NodeId> unlooked_;  // edited since look_for_stale()
  // Values of the file for which a declared number was used because nothing
  // could be inferred. They become unknown if a number of the file proves
  // wrong. Values of edits are not included: edits only copy declarations that
  // were believed.
  std::vector<ir::ValueId> fillers_;
  std::size_t file_values_;
  bool said_beyond_ = false;
  std::size_t used_ = 0, used_before_ = 0;  // nodes of function bodies
  static constexpr std::uint64_t kLast = ~std::uint64_t{0};
  // Nodes edited since ranks were last known to increase along all edges, and
  // still not in order.
  std::vector<ir::NodeId> edited_;
  // What each collective sent when that value's layout was worked out, and the
  // values that another collective may send since.
  std::unordered_map<std::uint32_t, ir::ValueId> sent_;
  std::vector<ir::ValueId> resent_;
  bool is_lost_ = false;  // that a node was edited
  // Nodes to compute again, lowest rank first, by the ranks of `numbering_`.
  std::uint64_t numbering_ = 0;
  using Marked = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Marked, std::vector<Marked>, std::greater<>> marked_;
  // The node marked last, if nothing was computed since.
  ir::NodeId last_marked_;
};

// --- functions.cc: model-local functions ---

// False if the op is not a function of the model, or is nested too deeply or
// too long.
bool infer_function(Solver& solver, const NodeView& view, Outputs outputs);

// Visits the function's body as it is for this call. False if it is nested too
// deeply or too long, or the budget for bodies is used up.
bool visit_body(Solver& solver, const NodeView& view, ir::Function& function,
                const std::function<void(Solver& body)>& visit);

// --- onnx_inference.cc: the ONNX library's own inference for one node ---

// For ops that no rule of ours knows. The first call builds the library's
// registry (30 ms). False when there is no schema, or it could not say
// anything; whatever the library throws is such an answer. `refusal`, where
// given, is what the library has against the node, or stays as it is.
bool infer_by_schema(const NodeView& view, Outputs outputs,
                     std::string* refusal = nullptr);

}  // namespace ruleengine::analysis
