// EditState: the state of an Edit between its first call and its commit.
// Internal to core/rewrite; edit.cc, build.cc, replace.cc and commit.cc work on
// it. All changes of the graph go through `log`.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/small_vector.h"
#include "core/ir/model.h"
#include "core/rewrite/edit.h"
#include "core/rewrite/edits/log.h"
#include "core/rewrite/edits/unmentioned.h"
#include "core/rewrite/edits/workspace.h"

namespace ruleengine::rewrite {

// A value and the value that replaces it; their types must agree.
struct ReplacedValue {
  ir::ValueId old_value, new_value;
  const ir::Type* type = nullptr;  // of the old value, before it was replaced
};

// `value` is to get the name of `from`: always if that is a block output, else
// only if `from` is removed.
struct Heir {
  ir::ValueId value, from;
  Name name;
  bool is_output = false;
};

// The replacements of an edit, in order: of all readers of a value, or of a
// single slot. Together with the new nodes they are what the edit does.
struct Action {
  ir::ValueId old_value, new_value;
  ir::OperandId slot;  // valid: this one slot; else all readers of old_value
};

// The nodes, values and names of an edit when it was first applied, for
// repeating it.
struct Again {
  std::size_t end_node = 0, end_value = 0;  // after its own nodes and values
  std::size_t fresh = 0;                    // repeated nodes start here
  std::span<const ir::NodeId> carriers;     // as in EditState
  const std::unordered_map<ir::ValueId, Name>* names = nullptr;

  Name name_of(ir::ValueId value) const {
    const auto it = names->find(value);
    return it == names->end() ? Name() : it->second;
  }
};

// A copy of a node, and the names of its original, which it takes over if
// `from`, the original in the same graph, is removed.
struct Copied {
  ir::NodeId node, from;
  std::string name;
  std::vector<std::string> outputs;  // "" for those that it does not have
};
// The same for an input of a copied body, where `from` is the owner of the
// original.
struct CopiedInput {
  ir::ValueId value;
  ir::NodeId from;
  std::string name;
};

struct EditState {
  EditState(ir::Graph& g, ir::Facts& f, Provenance p, Workspace* w)
      : graph(g),
        facts(f),
        provenance(std::move(p)),
        own(w == nullptr ? std::make_unique<Workspace>(g) : nullptr),
        workspace(w == nullptr ? own.get() : w),
        log(g, f),
        first_node(g.node_count()),
        first_value(g.value_count()) {}

  ir::Graph& graph;
  ir::Facts& facts;
  Provenance provenance;
  std::unique_ptr<Workspace> own;
  Workspace* workspace;
  Log log;
  ir::BlockId block = ir::Graph::main_block();
  std::uint64_t rank = 0;

  // Nodes and values from these indices on are new.
  std::size_t first_node, first_value;
  std::optional<Again> again;  // set when the edit is repeated: see history.h
  SmallVector<ir::NodeId, 8> added;
  SmallVector<ir::NodeId, 8> removed;
  SmallVector<ir::NodeId, 8> moved;     // with changed inputs
  SmallVector<ir::NodeId, 16> readers;  // whose outputs lost or gained readers
  SmallVector<ir::ValueId, 16> lost;    // values that lost a reader
  std::size_t considered =
      0;  // the first ones of `lost` that remove_dead() has looked at
  SmallVector<ir::OperandId, 8> slots;  // that read another value now
  SmallVector<ir::BlockId, 4> outputs;  // with changed outputs
  // Initializers with new readers that are in no block's list: hidden ones of
  // core/ops/upgrade.h, and those that an earlier edit dropped.
  SmallVector<ir::ValueId, 4> adopted;
  SmallVector<ReplacedValue, 2> replacements;
  SmallVector<Heir, 2> heirs;
  std::unordered_map<ir::ValueId, std::size_t> output_heirs, other_heirs;
  // New constants, and the stems of their names.
  std::vector<std::pair<ir::ValueId, std::string>> stems;
  std::unordered_set<ir::ValueId> has_stem;
  std::vector<std::pair<ir::NodeId, ir::NodeId>> likes;  // (new, model)
  // Like `likes`, also for nodes that were reused or folded: their first
  // output.
  std::vector<std::pair<ir::NodeId, ir::ValueId>> carried;
  std::vector<Copied> copied;
  std::vector<CopiedInput> copied_inputs;
  std::vector<Claimants> claims;
  Mentions mentions;
  // For history.h: the replacements, existing nodes that were reused,
  // Identities that keep the name of an output, generated names, and types that
  // were declared.
  SmallVector<Action, 2> actions;
  SmallVector<ir::NodeId, 2> shared;
  SmallVector<ir::NodeId, 2> carriers;
  std::vector<std::pair<ir::ValueId, Name>> named;
  std::vector<std::pair<ir::ValueId, const ir::Type*>> declared;
  std::optional<Rejection> failure;  // found where none could be returned
  std::vector<Assumption> assumptions;
  SmallVector<ir::NodeId, 1> inlined;      // calls that function bodies replace
  std::span<const ir::Metadata> metadata;  // shared by all new nodes
  bool done = false;
  bool changed = false;
  SmallVector<ir::NodeId, 16> touched;

  bool is_new(ir::NodeId node) const {
    if (!node || node.index() < first_node) return false;
    return !again || node.index() < again->end_node ||
           node.index() >= again->fresh;
  }
  bool is_new(ir::ValueId value) const {
    if (!value || value.index() < first_value) return false;
    return !again || value.index() < again->end_value;
  }
  bool is_adopted(ir::ValueId value) const {
    return std::ranges::find(adopted, value) != adopted.end();
  }
  bool in_function() const { return workspace->function() != nullptr; }
  void add_heir(const Heir& heir);
  // The first entry for that value; nullptr if there is none.
  const Heir* heir_of(ir::ValueId value, bool is_output) const;
  void add_stem(ir::ValueId value, std::string stem);
  void reject(std::string reason, ir::ValueId culprit);
  ir::NodeId add_node(ir::OpId op, ir::BlockId at,
                      std::span<const ir::ValueId> inputs,
                      std::uint32_t output_count,
                      std::span<const ir::Attribute> attributes);
  // Restores a node that history.h parked.
  void bring_back(ir::NodeId node, std::span<const ir::ValueId> inputs);
  void set_operand(ir::OperandId slot, ir::ValueId value);
  // Declares the type of an output of a node.
  void declare(ir::ValueId value, const ir::Type* type);
  void lose_reader(ir::ValueId value);
  void win_reader(ir::ValueId value);
  void adopt(ir::ValueId value);
  void undo();

 private:
  // Notes new readers of the inputs; the rank of a node that reads them.
  std::uint64_t read(std::span<const ir::ValueId> inputs);
};

struct Edit::Journal : EditState {
  using EditState::EditState;
};

// build.cc: builds a node that is written at the opset of the graph, and checks
// nothing but that its inputs are visible.
Edit::Built build_written(EditState& state, const NodeSpec& spec, ir::OpId op);
// replace.cc
void replace_value(EditState& state, ir::ValueId old_value,
                   ir::ValueId new_value);
// older_form.cc: writes a spec in newest-opset form at the opset of the graph;
// a rejection if that cannot express it.
std::optional<Rejection> to_older_form(EditState& state, NodeSpec& spec);
// shape_term.cc: whether the ops that compute them give both values one shape,
// whatever it is. Elementwise ops broadcast, products by a matrix and parts of
// a split change the last axis; any other op is only the same as one like it.
bool same_shape_by_ops(const EditState& state, ir::ValueId a, ir::ValueId b);
// dead.cc
void remove_dead(EditState& state, std::span<const ir::NodeId> roots);
// cycle.cc: true if the edit closed a cycle. Repairs Node::rank, through the
// log, for new edges that go against it.
bool closes_cycle(EditState& state);
// keep.cc: the steps of a kept edit only: names, provenance, imports, and the
// marks of what changed.
void settle_names(EditState& state);
void keep(EditState& state);

}  // namespace ruleengine::rewrite
