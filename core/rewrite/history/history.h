// History: the edits of one Graph that were kept, in their order, each with
// what it takes to undo it and to do it again. At the end of a run it takes
// back what canonical rules did and nobody needed: all edits are parked (see
// log.h), and those that are needed are done again on the graph as it was. So
// the result is what these edits alone would have made, and all else is as in
// the file. docs/decisions/0011 says what "needed" means. Internal to
// core/rewrite; borrows the graph and its workspace; not thread-safe.
#ifndef RULEENGINE_CORE_REWRITE_HISTORY_HISTORY_H_
#define RULEENGINE_CORE_REWRITE_HISTORY_HISTORY_H_

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
#include "core/rewrite/edits/state.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/history/log.h"

namespace ruleengine::rewrite {

// A stretch of one of the lists that all deeds share.
struct Part {
  std::uint32_t begin = 0, count = 0;
};

// One edit that was kept.
struct Deed {
  std::uint32_t rule = 0;
  std::uint64_t number = 0;  // among those of all graphs
  bool canonical = false;
  bool may_grow = false;  // what it adds needs not be made up for
  bool kept = true;
  bool assumes = false;       // it rests on an assumption
  bool builds = false;        // nodes, now
  ir::NodeId root;            // none of a pass
  std::size_t log_begin = 0;  // its first step
  std::size_t first_node = 0, end_node = 0, first_value = 0, end_value = 0;
  std::int32_t growth = 0;  // nodes that it added, less those it removed
  Part consumed, context;   // what it matched
  Part looked_at;           // by the rule's callbacks
  Part added, carriers;     // without, and alone, the Identities of outputs
  Part shared;              // what it would have built, and stood already
  Part actions, taken, declared;
  Part needs, turned;                      // see needs.h
  std::span<const ir::Metadata> metadata;  // that its nodes have in common
};

// What an edit took: readers from values, and slots from what they read.
using Taken = Log::Taken;

// That an edit needs an earlier one.
struct Need {
  enum class Why : std::uint8_t {
    kConsumed,  // it consumed what that made
    kSeen,      // it looked at what that made
    kTurned,    // it looked at what that changed
  };
  std::uint32_t deed = 0;
  Why why = Why::kSeen;
};

// A slot that the match looked at, after others had set it, and what it read.
struct Turned {
  ir::OperandId slot;
  ir::ValueId value;
};

class History {
 public:
  History(ir::Graph& graph, ir::Facts& facts, Workspace& workspace);

  // Of the edits that come.
  void set_kind(bool canonical, bool may_grow) {
    canonical_ = canonical;
    may_grow_ = may_grow;
  }
  // Takes over a committed edit, its log included.
  void record(EditState& state);
  // Whose the latest one was, and its number.
  void sign(std::uint32_t rule, ir::NodeId root, std::uint64_t number);

  struct TakenBack {
    std::uint32_t rule = 0;
    std::uint64_t number = 0;
    std::string node;  // its root, as reports name it
  };
  // Takes back what nobody needed. Once, at the end. Where edits that may not
  // make the graph larger did, forms that make it smaller are needed for that.
  // None where an edit that was needed could not be done again. kLimit when the
  // time is over.
  // `assuming`: the numbers of the edits that rest on an assumption.
  Result<std::optional<std::vector<TakenBack>>> settle(
      const Deadline& deadline, const std::set<std::uint64_t>& assuming = {});
  // Takes everything back.
  void park();

  bool has_edits() const;  // that are kept
  bool has_added() const;  // nodes

 private:
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

  void record_match(const EditState& state, Deed& deed);
  void renumber();

  ir::Graph& graph_;
  ir::Facts& facts_;
  Workspace& workspace_;
  Log log_;
  bool canonical_ = false, may_grow_ = false;
  std::vector<Deed> deeds_;
  std::vector<ir::NodeId> nodes_;
  std::vector<Action> actions_;
  std::vector<Taken> taken_;
  std::vector<std::pair<ir::ValueId, const ir::Type*>> declared_;
  std::vector<Need> needs_;
  std::vector<Turned> turned_;
  std::unordered_map<ir::ValueId, Name> names_;
};

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_HISTORY_HISTORY_H_
