// History: the kept edits of one Graph, in their order, with the data to undo
// and repeat each. At the end of a run it undoes the lent edits (is_lent())
// that no rule needed and that do not make the graph smaller: all edits are
// parked (see log.h), and those that are needed are repeated on the original
// graph. So the result is what these edits alone would have made, and
// everything else is as in the file. docs/decisions/0011 defines "needed".
// Internal to core/rewrite; borrows the graph and its workspace; not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/rewrite/edits/log.h"
#include "core/rewrite/edits/state.h"
#include "core/rewrite/edits/workspace.h"

namespace ruleengine::rewrite {

// A range of one of the lists that all records share.
struct Part {
  std::uint32_t begin = 0, count = 0;
};

// A record is an edit that was kept.
struct EditRecord {
  std::uint32_t rule = 0;
  std::uint64_t number = 0;  // counted over all graphs
  bool lent = false;         // is_lent() of its rule's phase
  bool kept = true;
  bool assumes = false;       // it rests on an assumption, its own or another's
  bool builds = false;        // whether it adds nodes
  ir::NodeId root;            // invalid for a pass
  std::size_t log_begin = 0;  // its first step in the log
  std::size_t first_node = 0, end_node = 0, first_value = 0, end_value = 0;
  Part consumed, context;  // what it matched
  Part died;               // what it removed of the context
  Part looked_at;          // by the rule's callbacks
  Part added, carriers;    // new nodes; new Identities of outputs
  Part removed;
  Part shared;  // existing nodes that it reused
  Part actions, taken, declared;
  Part needs, turned;                      // see needs.h
  std::span<const ir::Metadata> metadata;  // shared by its new nodes
};

// A reader that an edit took from a value; or a slot, with the value that it
// read.
using Taken = Log::Taken;

// The reason why an edit needs an earlier one.
struct Need {
  enum class Why : std::uint8_t {
    kConsumed,  // it consumed what that edit made
    kSeen,      // it looked at what that edit made
    kTurned,    // it looked at what that edit changed
  };
  std::uint32_t record = 0;
  Why why = Why::kSeen;
};

// A slot that the match looked at, which earlier edits had set, and the value
// that it read.
struct Turned {
  ir::OperandId slot;
  ir::ValueId value;
};

class Needs;

class History {
 public:
  History(ir::Graph& graph, ir::Facts& facts, Workspace& workspace);

  // Sets whether the following edits are lent.
  void set_kind(bool lent) { lent_ = lent; }
  // Records a committed edit and takes over its log.
  void record(EditState& state);
  // Sets the rule, root and number of the latest edit.
  void sign(std::uint32_t rule, ir::NodeId root, std::uint64_t number);

  struct TakenBack {
    std::uint32_t rule = 0;
    std::uint64_t number = 0;
    std::string node;  // the name of its root in reports
  };
  // Undoes the edits that no rule needed. To call once, at the end. Edits that
  // make the graph smaller count as needed. None if a needed edit could not be
  // repeated.
  // kLimit if the deadline has passed. `assuming`: the numbers of the edits
  // that rest on an assumption.
  Result<std::optional<std::vector<TakenBack>>> settle(
      const Deadline& deadline, const std::set<std::uint64_t>& assuming = {});
  // Undoes everything.
  void park();

  bool has_edits() const;  // whether any edit is kept
  bool has_added() const;  // whether kept edits have added nodes

 private:
  friend class Choice;
  friend class Needs;
  friend class Replay;

  template <class T>
  static std::span<const T> part(const std::vector<T>& pool, Part p) {
    return std::span(pool).subspan(p.begin, p.count);
  }
  template <class T, class Items>
  static Part put(std::vector<T>& pool, const Items& items) {
    const Part p{static_cast<std::uint32_t>(pool.size()),
                 static_cast<std::uint32_t>(std::size(items))};
    pool.insert(pool.end(), std::begin(items), std::end(items));
    return p;
  }

  void record_match(const EditState& state, EditRecord& record);
  Status share_twins(const Needs& needs);
  void renumber();

  ir::Graph& graph_;
  ir::Facts& facts_;
  Workspace& workspace_;
  Log log_;
  bool lent_ = false;
  std::vector<EditRecord> records_;
  std::vector<ir::NodeId> nodes_;
  std::vector<Action> actions_;
  std::vector<Taken> taken_;
  std::vector<std::pair<ir::ValueId, const ir::Type*>> declared_;
  std::vector<Need> needs_;
  std::vector<Turned> turned_;
  std::unordered_map<ir::ValueId, Name> names_;
};

}  // namespace ruleengine::rewrite
