// Edit: one transaction on one Graph. A rule builds and changes only through an
// Edit, which applies each step at once and keeps a journal to undo it exactly.
// commit() checks the whole edit (types kept, no cycle, outputs kept) and keeps
// it, or undoes it and returns the reason; the destructor undoes an Edit that
// was not committed. One Edit at a time per Graph; not thread-safe.
#pragma once

#include <functional>
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
#include "core/ops/node_spec.h"
#include "core/rewrite/edits/mentions.h"

namespace ruleengine::rewrite {

class Workspace;
struct Region;  // core/rewrite/region.h

// Why a match was not rewritten; not an error.
struct Rejection {
  std::string reason;  // "the scale is not a constant"
  std::string value;   // the culprit: "'k' float[2,B,8]"; may be ""
  // The oldest opset of the standard that can express the rewrite; 0 if the
  // opset is not the reason.
  std::int64_t opset = 0;
  // "M=B": the name of a size, and what it would have to be; may be "".
  std::string tie;
};

// What a rewrite needs beyond what the graph proves. The rewrite is right only
// if it holds.
struct Assumption {
  std::string text;   // "scores above -9,900"
  std::string value;  // the value that it is about, as in a Rejection

  bool operator==(const Assumption&) const = default;
};
// Adds an assumption, unless one with the same text is there.
void add_assumption(std::vector<Assumption>& all, Assumption one);

// The origin of new nodes; written into the metadata of the saved model as
// ruleengine.rule ("attention/compose_...") and ruleengine.from.
struct Provenance {
  std::string_view rule;             // pack/rule
  std::span<const ir::NodeId> from;  // nodes that the match consumes
  // Nodes that the match only looks at. They count as origin if they are
  // removed together with the consumed ones.
  std::span<const ir::NodeId> context;
  std::vector<std::pair<std::string, std::string>> meta;  // the rule's own
  bool assumes = false;  // whether the match rests on an assumption
};

using ops::kMaxOutputs;
using ops::NodeSpec;

// Two nodes that compute the same: the same op with the same attributes on the
// same values, or on values of such nodes.
struct Twin {
  ir::NodeId first, second;
};

struct EqualValues {
  ir::ValueId first, second;
};

// A body of a node of the same graph, or of a function of the model, and what
// it is given.
struct BodyCall {
  const ir::Graph& from;
  ir::BlockId body;
  std::vector<ir::ValueId> inputs;  // in order; invalid: absent
  // The attributes of a call of a function, and their defaults.
  std::span<const ir::Attribute> attributes, defaults;
  std::string prefix;  // of the names of copies
};

// The inputs and outputs of a node or of a body that stay.
struct Ports {
  std::vector<bool> inputs, outputs;
};

// A node with bodies, and what of it is copied.
struct NodeCopy {
  ir::NodeId node;
  Ports ports;   // of the node
  Ports bodies;  // of each of its bodies
  // By input of the bodies: what they read instead of one that goes.
  std::vector<ir::ValueId> instead;
  std::span<const ir::Attribute> attributes;
};

class Edit {
 public:
  // `workspace` (core/rewrite/edits/workspace.h) carries constants from one
  // Edit to the next and must outlive it; with nullptr this Edit has its own.
  Edit(ir::Graph& graph, ir::Facts& facts, Provenance provenance,
       Workspace* workspace = nullptr);
  ~Edit();  // undoes an edit that was not committed
  Edit(Edit&& other) noexcept;
  Edit& operator=(Edit&&) = delete;

  ir::Graph& graph() const;
  ir::Facts& facts() const;

  // The block for new nodes: that of the root.
  void set_block(ir::BlockId block);
  // The least rank of new nodes: that of the first replaced result.
  void set_rank(std::uint64_t rank);

  // The matches that this edit rewrites, as one. commit() checks that no
  // attribute of their nodes is lost without a mention by the rule
  // (core/rewrite/edits/unmentioned.h).
  void claim(const pattern::Pattern& pattern,
             std::span<const match::Match* const> matches);
  // The attributes that the rule mentioned outside of its pattern; the caller
  // fills it.
  Mentions& mentions();
  // If attributes that the rule does not mention differ between the matches, so
  // that not all of them may be rewritten as one: the sets that may, as lists
  // of indices. To call after remove_dead().
  std::vector<std::vector<std::size_t>> divisions() const;

  // Builds a node. The spec is in newest-opset form; the node is written at the
  // model's own opset, or rejected. If a visible block has a node with the same
  // op, inputs and attributes, that one is reused (not if two are different
  // from one: ops of unknown domains, functions of the model, random ops). A
  // node with constant inputs folds (large ones lazily). Imports the domain. A
  // wrong number of inputs or wrong attributes are errors of the rule
  // (Diagnostic kRule without position).
  using Built = std::variant<std::vector<ir::ValueId>, Rejection>;
  Result<Built> build(const NodeSpec& spec);

  // Builds copies of the nodes that the outputs of a body need, those within
  // bodies included, and returns the values in the place of the outputs. They
  // are written as their originals are; a Rejection where the graph imports
  // another opset than the function. They take the names of their originals if
  // these are removed.
  Built copy_body(const BodyCall& call);
  // The same for a node of the graph: returns the outputs that stay.
  Built copy_node(const NodeCopy& part);

  // A constant value (a hidden initializer until a saved node reads it); equal
  // small constants are one value.
  ir::ValueId constant(const ir::Literal* tensor, std::string_view name_hint);
  // The transpose of a 2-D constant, computed lazily.
  ir::ValueId transposed(ir::ValueId constant);

  // Whether `new_value`, made by this edit, computes the same as `old_value`
  // did before: the same ops with the same attributes, on the same values. For
  // nodes that build() does not reuse, such as the one that is about to be
  // replaced.
  bool repeats(ir::ValueId old_value, ir::ValueId new_value) const;

  // All twins of the graph, in computation order of the second ones. A second
  // node has one first node, which is never the second of another pair.
  // Excludes nodes that build() never reuses.
  Result<std::vector<Twin>> twins() const;

  // Initializers of more than 256 bytes with the same bits as an earlier one,
  // by the second one; not those that callers of the model may override. A
  // first one is never the second of another pair. Reads little of others.
  std::vector<EqualValues> equal_weights() const;

  // Values that are computed, but known, and that something reads which is not
  // known itself; in graph order. Not those that are more than 1 MiB larger
  // than the constants that they are computed from.
  std::vector<ir::ValueId> known_values() const;
  // A constant that is equal to a known value; invalid for other values.
  ir::ValueId known(ir::ValueId value);

  // Moves the readers of `old_value` (block outputs included) to `new_value`;
  // checked at commit. Nodes of this edit and the producer of `new_value` keep
  // reading `old_value`, since they were built from it. A block output keeps
  // its name: the producer of the new value takes the name if it can, else an
  // Identity has it. A new node takes the name of the node that it replaces if
  // that one is removed.
  void replace(ir::ValueId old_value, ir::ValueId new_value);
  // Changes one input of one node.
  void replace_input(ir::NodeId node, std::uint32_t input,
                     ir::ValueId new_value);

  // Notes that this edit replaces `call`, one of the engine's own ops, by its
  // function body. commit() then does not ask for a proof that shapes are
  // equal: the body may show less than the op's type rule.
  void inlines(ir::NodeId call);

  // Notes that the edit is right only if this holds.
  void assume(Assumption assumption);
  std::span<const Assumption> assumptions() const;
  // What must hold for the types that the edit was matched and is checked with
  // (ir::Facts::doubt). To ask before it is committed, and to assume
  // afterwards: what a rule assumes itself frees it from proofs of shapes.
  std::optional<Assumption> doubt() const;

  // Removes nodes whose outputs nothing reads any more, starting from `roots`,
  // from nodes of this edit, and from nodes that lost a reader, then their
  // producers; and initializers that lost their last reader.
  void remove_dead(std::span<const ir::NodeId> roots);

  // Checks and keeps the edit. If it returns a rejection, everything was
  // undone. `judge` is asked last, and may say why the edit is not right; it
  // may be empty.
  using Judged = std::function<std::optional<std::string>(const Region&)>;
  std::optional<Rejection> commit(const Judged& judge = {});
  // What commit() would return, and a rejection if nothing would change; undoes
  // everything.
  std::optional<Rejection> rehearse();
  void undo();

  // Whether nothing was built, changed or assumed so far.
  bool empty() const;
  // False if commit() found no effect and left no trace.
  bool changed() const;
  // After commit, the nodes to match again: new nodes, nodes whose inputs
  // changed, nodes whose outputs lost or gained readers; ascending, without
  // duplicates.
  std::span<const ir::NodeId> touched() const;
  std::span<const ir::NodeId> added() const;
  std::span<const ir::NodeId> removed() const;  // dead nodes included

  // The bytes of new constants that something reads, and the name of the
  // largest, or what it will begin with.
  struct NewConstants {
    std::int64_t bytes = 0;
    std::string largest;
  };
  NewConstants new_constants() const;

 private:
  struct Journal;  // core/rewrite/edits/state.h
  std::unique_ptr<Journal> journal_;
};

}  // namespace ruleengine::rewrite
