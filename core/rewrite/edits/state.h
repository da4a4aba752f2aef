// EditState: what an Edit knows between its first call and its commit. Internal
// to core/rewrite; edit.cc, build.cc, replace.cc and commit.cc work on it. All
// changes of the graph go through `log`.
#ifndef RULEENGINE_CORE_REWRITE_EDITS_STATE_H_
#define RULEENGINE_CORE_REWRITE_EDITS_STATE_H_

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
#include "core/rewrite/edits/unsaid.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/history/log.h"

namespace ruleengine::rewrite {

// A value that goes for another; the types must agree.
struct Replacement {
  ir::ValueId old_value, new_value;
  const ir::Type* type = nullptr;  // of the old one, when it was replaced
};

// `value` is to bear the name of `from`: always for a block output, else if
// `from` dies.
struct Heir {
  ir::ValueId value, from;
  Name name;
  bool is_output = false;
};

// Which values go for which, and which slots were set, in order: what an edit
// means beyond the nodes that it adds.
struct Action {
  ir::ValueId old_value, new_value;
  ir::OperandId slot;  // valid: this one slot; else all readers of old_value
};

// What an edit gave out, for when it is done again.
struct Again {
  std::size_t end_node = 0, end_value = 0;  // of its own nodes and values
  std::size_t fresh = 0;                    // nodes from here on are its own
  std::span<const ir::NodeId> carriers;     // of EditState
  const std::unordered_map<ir::ValueId, Name>* names = nullptr;

  Name name_of(ir::ValueId value) const {
    const auto it = names->find(value);
    return it == names->end() ? Name() : it->second;
  }
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

  // Nodes and values from here on are this edit's.
  std::size_t first_node, first_value;
  std::optional<Again> again;  // it is done again: see history.h
  SmallVector<ir::NodeId, 8> added;
  SmallVector<ir::NodeId, 8> removed;
  SmallVector<ir::NodeId, 8> moved;     // other inputs
  SmallVector<ir::NodeId, 16> readers;  // outputs lost or won readers
  SmallVector<ir::ValueId, 16> lost;    // values that lost a reader
  std::size_t considered = 0;  // so many of them, whether anything reads them
  SmallVector<ir::OperandId, 8> slots;  // that read another value now
  SmallVector<ir::BlockId, 4> outputs;  // blocks with another output
  // Initializers that stood in no block's list and are read now: hidden ones
  // of core/ops/upgrade.h, and such as an earlier edit had dropped.
  SmallVector<ir::ValueId, 4> adopted;
  SmallVector<Replacement, 2> replacements;
  SmallVector<Heir, 2> heirs;
  std::unordered_map<ir::ValueId, std::size_t> output_heirs, other_heirs;
  // Constants of this edit, and what their names are made of.
  std::vector<std::pair<ir::ValueId, std::string>> stems;
  std::unordered_set<ir::ValueId> has_stem;
  std::vector<std::pair<ir::NodeId, ir::NodeId>> likes;  // new, model
  // As `likes`, and such as were handed back or folded: the first output.
  std::vector<std::pair<ir::NodeId, ir::ValueId>> carried;
  std::vector<Claimants> claims;
  Said said;
  // For history.h: what was asked for, nodes that were handed back since they
  // stood already, Identities that carry the name of an output, names that were
  // made up, and types that were declared.
  SmallVector<Action, 2> actions;
  SmallVector<ir::NodeId, 2> shared;
  SmallVector<ir::NodeId, 2> carriers;
  std::vector<std::pair<ir::ValueId, Name>> named;
  std::vector<std::pair<ir::ValueId, const ir::Type*>> declared;
  std::optional<Rejection> failure;  // met where none could be returned
  std::vector<Assumption> assumptions;
  std::span<const ir::Metadata> metadata;  // that its nodes have in common
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
  // The first of that value; nullptr when it has none.
  const Heir* heir_of(ir::ValueId value, bool is_output) const;
  void add_stem(ir::ValueId value, std::string stem);
  void reject(std::string reason, ir::ValueId culprit);
  ir::NodeId add_node(ir::OpId op, ir::BlockId at,
                      std::span<const ir::ValueId> inputs,
                      std::uint32_t output_count,
                      std::span<const ir::Attribute> attributes);
  // A node that history.h parked.
  void bring_back(ir::NodeId node, std::span<const ir::ValueId> inputs);
  void set_operand(ir::OperandId slot, ir::ValueId value);
  void lose_reader(ir::ValueId value);
  void win_reader(ir::ValueId value);
  void adopt(ir::ValueId value);
  void undo();
};

struct Edit::Journal : EditState {
  using EditState::EditState;
};

// replace.cc
void replace_value(EditState& state, ir::ValueId old_value,
                   ir::ValueId new_value);
// dead.cc
void remove_dead(EditState& state, std::span<const ir::NodeId> roots);
// cycle.cc: true when the edit closed a cycle. Mends Node::rank, through the
// log, where edges came to run against it.
bool closes_cycle(EditState& state);
// keep.cc: what only a kept edit does: names, provenance, imports, marks of
// change.
void settle_names(EditState& state);
void keep(EditState& state);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_EDITS_STATE_H_
