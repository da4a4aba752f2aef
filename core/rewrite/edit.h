// Edit: one transaction on one Graph. Everything a rule builds or changes goes
// through an Edit, which applies it at once and journals how to undo it, in
// reverse, exactly. commit() checks the whole (types kept, no cycle, outputs
// kept) and keeps it, or undoes it with a reason; dropping an Edit undoes it.
// One Edit at a time per Graph; not thread-safe.
#ifndef RULEENGINE_CORE_REWRITE_EDIT_H_
#define RULEENGINE_CORE_REWRITE_EDIT_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/match/match.h"
#include "core/rewrite/edits/said.h"

namespace ruleengine::rewrite {

class Workspace;

// Why a match was not rewritten; not an error.
struct Rejection {
  std::string reason;  // "the scale is not a constant"
  std::string value;   // the culprit: "'k' float[2,B,8]"; may be ""
  // The least opset of the standard at which the rewrite can be said; 0 where
  // the opset is not the reason.
  std::int64_t opset = 0;
};

// What a rewrite needs beyond what the graph proves; it holds if this does.
struct Assumption {
  std::string text;   // "scores above -9,900"
  std::string value;  // what it speaks of, as in a Rejection

  bool operator==(const Assumption&) const = default;
};
// One more, unless its text is there already.
void add_assumption(std::vector<Assumption>& all, Assumption one);

// Where new nodes come from; written into the saved model's metadata as
// ruleengine.rule ("attention/compose_...") and ruleengine.from.
struct Provenance {
  std::string_view rule;             // pack/rule
  std::span<const ir::NodeId> from;  // nodes the match consumed
  // What it looked at beside them: from there too where it dies with them.
  std::span<const ir::NodeId> context;
  std::vector<std::pair<std::string, std::string>> meta;  // the rule's own
};

// The outputs of a node that is built, at most: rule code gets them all at
// once, on Lua's stack.
inline constexpr std::uint32_t kMaxOutputs = 4096;

struct NodeSpec {
  std::string_view domain, type;
  std::vector<ir::ValueId> inputs;        // invalid: absent
  std::vector<ir::Attribute> attributes;  // views valid in the model's arena
  std::uint32_t output_count = 1;
  // Start from this node's unmodelled fields and metadata (m.norm:with(...)).
  ir::NodeId like;
};

// Two nodes of which the second computes what the first does: the same op with
// the same attributes on the same values, or on values of such twins.
struct Twin {
  ir::NodeId first, second;
};

class Edit {
 public:
  // `workspace` (core/rewrite/edits/workspace.h) carries constants from one
  // Edit to the next and outlives it; nullptr: this Edit has its own.
  Edit(ir::Graph& graph, ir::Facts& facts, Provenance provenance,
       Workspace* workspace = nullptr);
  ~Edit();  // undoes what was not committed
  Edit(Edit&& other) noexcept;
  Edit& operator=(Edit&&) = delete;

  ir::Graph& graph() const;
  ir::Facts& facts() const;

  // The block new nodes go to: that of the root.
  void set_block(ir::BlockId block);
  // The least topological key of new nodes: that of the first result replaced.
  void set_rank(std::uint64_t rank);

  // The matches that this edit rewrites, as one: what of their nodes'
  // attributes stands there unsaid is looked for at commit
  // (core/rewrite/edits/unsaid.h).
  void claim(const pattern::Pattern& pattern,
             std::span<const match::Match* const> matches);
  // What the rule said of attributes beside its pattern; for whoever runs it.
  Said& said();
  // Where not all matches may be rewritten as one, since attributes differ of
  // which the rule does not speak: those that may, as lists of their places.
  // After remove_dead().
  std::vector<std::vector<std::size_t>> divisions() const;

  // Builds a node in newest-opset form: written at the model's own opset, or
  // rejected. A node that already stands in a visible block with the same op,
  // inputs and attributes is handed back instead (not where two differ from
  // one: ops of unknown domains, functions of the model, random ones); what
  // folds from constants folds (large ones lazily). Imports the domain. Wrong
  // arity or attributes are errors of the rule (Diagnostic kRule without
  // position).
  using Built = std::variant<std::vector<ir::ValueId>, Rejection>;
  Result<Built> build(const NodeSpec& spec);

  // A constant value (hidden initializer until used by a saved node); equal
  // small constants are one value.
  ir::ValueId constant(const ir::Tensor* tensor, std::string_view name_hint);
  // The transpose of a 2-D constant, lazily.
  ir::ValueId transposed(ir::ValueId constant);

  // Whether `new_value`, of this edit, says what `old_value` said before it:
  // the same ops with the same attributes, down to the same values. For what
  // build() does not hand back; so of a result that is to be replaced.
  bool repeats(ir::ValueId old_value, ir::ValueId new_value) const;

  // All twins of the graph as it is, the second ones in computation order; a
  // node has at most one first, which is nobody's second. Not of nodes that
  // build() would not hand back either.
  Result<std::vector<Twin>> twins() const;

  // Moves the readers of `old_value` (block outputs included) to `new_value`,
  // but for nodes of this edit and the producer of `new_value`, which were
  // built upon it; checked at commit. A block output keeps its name: the
  // producer of the new value takes it when free, else an Identity carries it.
  // A new node takes the name of the value it replaces when that dies.
  void replace(ir::ValueId old_value, ir::ValueId new_value);
  // One input slot of one node.
  void replace_input(ir::NodeId node, std::uint32_t input,
                     ir::ValueId new_value);

  // What it does holds only if this does.
  void assume(Assumption assumption);
  std::span<const Assumption> assumptions() const;

  // Removes what nothing reads any more, starting from the nodes in `roots`,
  // those of this edit and those that lost a reader, and going up; initializers
  // that lost their last reader go too.
  void remove_dead(std::span<const ir::NodeId> roots);

  // Checks and keeps. On a rejection everything was undone.
  std::optional<Rejection> commit();
  // What commit() would say, also that nothing would change; undoes everything.
  std::optional<Rejection> rehearse();
  void undo();

  // Nothing was built, changed or assumed so far.
  bool empty() const;
  // False after a commit that found nothing changed and left no trace.
  bool changed() const;
  // After commit: what changed, for rematching: new nodes, nodes whose inputs
  // changed, nodes whose outputs lost or won readers; ascending, each once.
  std::span<const ir::NodeId> touched() const;
  std::span<const ir::NodeId> added() const;
  std::span<const ir::NodeId> removed() const;  // dead ones included

 private:
  struct Journal;  // core/rewrite/edits/state.h
  std::unique_ptr<Journal> journal_;
};

// Names a value for a reader: "'scores' float[2,H,S,T]".
std::string describe(const ir::Graph& graph, ir::Facts& facts,
                     ir::ValueId value);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_EDIT_H_
