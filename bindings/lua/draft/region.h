// What a draft knows of the selected nodes, and its texts. Internal to
// bindings/lua/draft.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/draft/selection.h"
#include "bindings/lua/draft/sources.h"
#include "core/analysis/inference.h"
#include "core/ir/model.h"
#include "core/ops/newest_nodes.h"

namespace ruleengine::lua {

struct Region {
  explicit Region(ir::Model& its_model)
      : model(its_model),
        graph(its_model.graph),
        facts(its_model.graph),
        newest(its_model.graph, facts) {}

  ir::Model& model;
  ir::Graph& graph;
  analysis::Inference facts;
  ops::NewestNodes newest;  // as patterns see the nodes
  Selection selection;
  std::vector<Source> sources;
  std::map<ir::ValueId, std::string> names;  // of all values, in Lua and ONNX

  std::string names_of(std::span<const ir::ValueId> values) const;
};

// kUsage for a node that no pattern can describe.
Status check_node(Region& region, ir::NodeId node);

// "function(op, x, w) ... end" without its first and last word: what the nodes
// compute, in the words of patterns and of `rewrite`.
std::string function_text(Region& region, bool literals);

// The nodes as a graph, for an example. `sizes`: for each axis of each input
// its size, a number or a name.
std::string example_text(Region& region, std::span<const std::string> sizes);

// Adds to a list that is separated by commas.
void append(std::string& list, std::string_view one);

}  // namespace ruleengine::lua
