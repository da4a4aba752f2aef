// Workspace: what outlives the single Edit on one Graph: which function body it
// is, the constants that edits made (equal small ones are one value), where
// edits are written down, and scratch marks for searches. The driver keeps one
// per graph; an Edit without one makes its own. Borrows the graph; not
// thread-safe.
#ifndef RULEENGINE_CORE_REWRITE_EDITS_WORKSPACE_H_
#define RULEENGINE_CORE_REWRITE_EDITS_WORKSPACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::rewrite {

class History;

class Workspace {
 public:
  explicit Workspace(ir::Graph& graph);

  // Where edits that are kept are written down; nullptr: nowhere.
  History* history() const { return history_; }
  void set_history(History* history) { history_ = history; }

  // nullptr for the model's main graph.
  ir::Function* function() const { return graph_.function(); }
  // The version imported for `domain` where this graph stands, 0 if none.
  std::int64_t opset(std::string_view domain) const;
  void import_opset(std::string_view domain, std::int64_t version);

  // Why no op of this graph can be given a function body; "" where it can.
  const std::string& no_bodies() const { return no_bodies_; }
  void refuse_bodies(std::string why) { no_bodies_ = std::move(why); }
  bool bodies_missed = false;  // a rule wanted one all the same

  // The constant that stands for `tensor` already, invalid if none does.
  ir::ValueId find_constant(const ir::Tensor& tensor) const;
  void add_constant(const ir::Tensor& tensor, ir::ValueId value);
  ir::ValueId find_transposed(ir::ValueId of) const;
  void add_transposed(ir::ValueId of, ir::ValueId value);

  // The places where `value` is an output of a block. They are remembered, and
  // note_output says where an edit put one.
  using Place = std::pair<ir::BlockId, std::uint32_t>;
  std::vector<Place> output_places(ir::ValueId value);
  void note_output(ir::ValueId value, Place place);

  // A fresh set of nodes; marking is O(1) and so is starting anew.
  void clear_marks();
  bool mark(ir::NodeId node);  // false when it was marked already
  bool marked(ir::NodeId node) const;

 private:
  bool stands(ir::ValueId value) const;

  ir::Graph& graph_;
  History* history_ = nullptr;
  std::string no_bodies_;
  std::unordered_map<std::string, ir::ValueId> constants_;
  std::unordered_map<ir::ValueId, ir::ValueId> transposed_;
  bool outputs_known_ = false;
  std::unordered_map<ir::ValueId, std::vector<Place>> outputs_;
  std::vector<std::uint32_t> marks_;
  std::uint32_t epoch_ = 0;
};

// Type, dimensions and bytes as one key; empty for what is not compared, being
// large or elsewhere.
std::string key_of(const ir::Tensor& tensor, ir::ExternalData* external);

// Takes what edits dropped out of the blocks' lists of initializers, what they
// listed once more, and what is hidden (again), having neither name nor reader.
void compact_initializers(ir::Graph& graph);

// `outer` is `inner` or one of the blocks around it.
bool encloses(const ir::Graph& graph, ir::BlockId outer, ir::BlockId inner);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_EDITS_WORKSPACE_H_
