// Outline: the nodes of a graph, grouped as a reader would group them: by the
// scopes in their names ("/encoder/layer.0/MatMul") or metadata, by the bodies
// that contain them, and by repetition, with or without names (of twelve equal
// layers one is shown, and "eleven more like it"). A plain value that refers to
// its graph by id; linear in the graph except for logarithms; everything is in
// the order of the graph.
#pragma once

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
    kMore,   // the other repetitions
    kPart,   // a piece of a long list
  };
  Kind kind = Kind::kScope;
  std::string name;
  GroupId parent;
  std::vector<Item> children;
  std::size_t nodes = 0;  // including those of its groups
  std::size_t times = 0;  // kMore: how many repetitions
};

struct Outline {
  std::vector<Group> groups;          // [0] is the whole graph
  std::vector<GroupId> of_node;       // by NodeId; invalid: not drawn
  std::vector<std::size_t> position;  // by NodeId: in topological order

  const Group& operator[](GroupId id) const { return groups[id.index()]; }
  static constexpr GroupId root() { return GroupId(0u); }
};

// A Constant node is shown as part of its readers, and not drawn itself.
bool is_drawn(const ir::Graph& graph, ir::NodeId node);

// If the graph has more than `most` nodes, repetitions are grouped and lists
// are cut. A graph with a cycle has no outline.
Result<Outline> outline(const ir::Graph& graph, std::size_t most);

}  // namespace ruleengine::draw
