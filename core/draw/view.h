// View: what is drawn of one group of an outline: boxes (nodes, and groups that
// stay closed), frames around open groups, arrows, and the values that come in
// and go out. The limit on boxes decides which groups are open; groups with
// matches are opened first. Plain values that refer to graph and outline by id;
// time linear in the nodes of the group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/draw/outline.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::draw {

// What is coloured: nodes that are matched, and nodes that the rewrite removes
// with them. A node may be part of matches of several rules.
struct Marks {
  std::vector<std::string> rules;    // rules with matches, by number
  std::size_t silent = 0;            // rules that match nowhere
  std::vector<std::size_t> matches;  // of each rule
  std::vector<std::vector<std::uint32_t>>
      of_node;                             // by NodeId: rules, ascending
  std::vector<std::size_t> roots_of_node;  // by NodeId: matches that end there
};

// Everything that views are made from. Types come from `facts`.
struct Scene {
  const ir::Graph& graph;
  const Outline& outline;
  const Marks& marks;
  ir::Facts& facts;
};

constexpr std::uint32_t kNone = 0xffffffff;

struct Frame {
  GroupId group;
  std::uint32_t around = kNone;  // the frame that contains it
};

struct Box {
  Item item;
  std::uint32_t frame = kNone;
  std::vector<std::uint32_t> rules;  // with matches inside
  std::size_t matches = 0;
};

// A value that comes in from outside the view, or goes out.
struct Port {
  ir::ValueId value;
  bool in = true;
  bool of_model = false;  // an input or output of the graph itself
};

// An arrow between boxes or ports; ports are numbered after the boxes.
struct Arrow {
  std::uint32_t from = 0, to = 0;
  ir::ValueId value;      // the first one
  std::size_t count = 1;  // of values
};

struct View {
  GroupId group;
  std::vector<Frame> frames;
  std::vector<Box> boxes;
  std::vector<Port> ports;
  std::vector<Arrow> arrows;
  std::size_t ports_left_out = 0;
};

// At most `most` boxes, unless the group itself has more children.
View view_of(const Scene& scene, GroupId group, std::size_t most);

}  // namespace ruleengine::draw
