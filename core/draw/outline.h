// Outline: the nodes of a graph put together as a reader would: by the scopes
// that their names ("/encoder/layer.0/MatMul") or their metadata tell, by the
// bodies they stand in, and by repetition (twelve equal layers are one, and
// eleven more like it), whether names say so or not. A plain value that refers
// to its graph by id; linear in the graph but for logarithms; the order of
// everything follows the graph's own.
#ifndef RULEENGINE_CORE_DRAW_OUTLINE_H_
#define RULEENGINE_CORE_DRAW_OUTLINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/id.h"
#include "core/base/result.h"
#include "core/ir/graph.h"

namespace ruleengine::draw {

using GroupId = Id<struct GroupTag>;

// A group or a node.
struct Item {
  GroupId group;
  ir::NodeId node;
};

struct Group {
  enum class Kind : std::uint8_t {
    kScope,  // by name, or the body of a node
    kBlock,  // the first of repeated nodes that no scope holds
    kMore,   // the other ones of what is repeated
    kPart,   // a piece of a long list
  };
  Kind kind = Kind::kScope;
  std::string name;
  GroupId parent;
  std::vector<Item> children;
  std::size_t nodes = 0;  // in all
  std::size_t times = 0;  // kMore: how many
};

struct Outline {
  std::vector<Group> groups;          // [0] is the whole graph
  std::vector<GroupId> of_node;       // by NodeId; invalid: not drawn
  std::vector<std::size_t> position;  // by NodeId: in topological order

  const Group& operator[](GroupId id) const { return groups[id.index()]; }
  static constexpr GroupId root() { return GroupId(0u); }
};

// A Constant node is part of those that read it, and not drawn itself.
bool is_drawn(const ir::Graph& graph, ir::NodeId node);

// Repetition is looked for, and lists are cut, where a graph has more than
// `most` nodes. A graph with a cycle has no outline.
Result<Outline> outline(const ir::Graph& graph, std::size_t most);

}  // namespace ruleengine::draw

#endif  // RULEENGINE_CORE_DRAW_OUTLINE_H_
