// Replay: repeats the edits of a History that are kept, in their order, on the
// original graph. Ids, names and metadata are those of the first time. An edit
// reads what its match reads now. If an edit cannot be repeated so, all edits
// before it are kept, and the replay starts again. Internal to core/rewrite.
#pragma once

#include "core/rewrite/history/history.h"
#include "core/rewrite/history/needs.h"

namespace ruleengine::rewrite {

class Replay {
 public:
  // All steps are parked, and the nodes have their ranks.
  Replay(History& history, const Needs& needs)
      : history_(history), graph_(history.graph_), needs_(needs) {}

  // False if an edit cannot be repeated even with all edits before it.
  Result<bool> run(const Deadline& deadline);

 private:
  bool do_again(EditRecord& record);
  void sign(EditState& state, const EditRecord& record);
  bool build(EditState& state, const EditRecord& record);
  bool bring_back(EditState& state, const EditRecord& record, ir::NodeId node,
                  int depth);
  // The value to read in place of the one that `record` read; none if there is
  // none.
  std::optional<ir::ValueId> resolve(EditState& state, const EditRecord& record,
                                     ir::ValueId value, int depth);
  bool act(EditState& state, const EditRecord& record);
  void declare(EditState& state, ir::ValueId value, const ir::Type* type);

  History& history_;
  ir::Graph& graph_;
  const Needs& needs_;
};

}  // namespace ruleengine::rewrite
