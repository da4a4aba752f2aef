// Workspace: the state that the edits of one Graph share: which function body
// it is, the constants that edits made (equal small ones are one value), the
// history of edits, and scratch marks for searches. The driver keeps one per
// graph; an Edit without one makes its own. Borrows the graph; not thread-safe.
#pragma once

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

  // Where kept edits are recorded; nullptr: nowhere.
  History* history() const { return history_; }
  void set_history(History* history) { history_ = history; }

  // The function whose body this graph is; nullptr for the main graph.
  ir::Function* function() const { return graph_.function(); }
  // The first node that is not of the file: an edit made it, or it took the
  // place of one when the opset was raised. By default the graph is as in the
  // file.
  std::size_t first_made() const { return first_made_; }
  void set_first_made(std::size_t node) { first_made_ = node; }
  // The version that this graph imports for `domain`; 0 if it does not.
  std::int64_t opset(std::string_view domain) const;
  void import_opset(std::string_view domain, std::int64_t version);

  // Why no op of this graph can get a function body; "" if it can.
  const std::string& no_bodies() const { return no_bodies_; }
  void refuse_bodies(std::string why) { no_bodies_ = std::move(why); }
  bool bodies_missed = false;  // whether a rule needed one

  // The constant that was made for an equal tensor, invalid if there is none.
  ir::ValueId find_constant(const ir::Literal& tensor) const;
  void add_constant(const ir::Literal& tensor, ir::ValueId value);
  // The initializer that had this very tensor when this Workspace was made; it
  // may have been dropped since. Invalid if there is none.
  ir::ValueId find_initializer(const ir::Literal& tensor);
  ir::ValueId find_transposed(ir::ValueId of) const;
  void add_transposed(ir::ValueId of, ir::ValueId value);

  // The places where `value` is a block output. They are cached; note_output
  // must be told when an edit adds one.
  using Place = std::pair<ir::BlockId, std::uint32_t>;
  std::vector<Place> output_places(ir::ValueId value);
  void note_output(ir::ValueId value, Place place);

  // Whether a value that stands, in any block, has the name. note_name must be
  // told of names that edits give.
  bool is_used(Name name);
  void note_name(Name name, ir::ValueId value);

  // Starts a new set of marked nodes; takes constant time, as mark() does.
  void clear_marks();
  bool mark(ir::NodeId node);  // false if it was marked before
  bool marked(ir::NodeId node) const;

 private:
  bool stands(ir::ValueId value) const;

  ir::Graph& graph_;
  History* history_ = nullptr;
  std::size_t first_made_;
  std::string no_bodies_;
  std::unordered_map<std::string, ir::ValueId> constants_;
  std::unordered_map<ir::ValueId, ir::ValueId> transposed_;
  std::size_t values_before_;  // when this was made
  bool initializers_known_ = false;
  std::unordered_map<const ir::Literal*, ir::ValueId> initializers_;
  bool outputs_known_ = false;
  std::unordered_map<ir::ValueId, std::vector<Place>> outputs_;
  bool names_known_ = false;
  // The values that had a name once.
  std::unordered_map<Name, std::vector<ir::ValueId>> of_name_;
  std::vector<std::uint32_t> marks_;
  std::uint32_t epoch_ = 0;
};

// Type, dimensions and bytes as a key; empty for tensors that are not compared,
// being large or in another file.
std::string key_of(const ir::Literal& tensor, ir::ExternalData* external);

// Cleans up the blocks' lists of initializers: removes dropped and duplicate
// ones, and hidden ones without name and readers.
void compact_initializers(ir::Graph& graph);

// Whether `outer` is `inner` or contains it.
bool encloses(const ir::Graph& graph, ir::BlockId outer, ir::BlockId inner);

}  // namespace ruleengine::rewrite
