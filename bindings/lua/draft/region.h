// What a draft knows of the selected nodes, and its texts. Internal to
// bindings/lua/draft.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/draft.h"
#include "core/analysis/inference.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "core/ops/newest_nodes.h"

namespace ruleengine::lua {

// A fault of what a user asks to draft.
Diagnostic misuse(std::string what, std::string where, std::string hint = {});

// Which nodes one op can replace.
struct Selection {
  std::vector<ir::NodeId> nodes;     // in computation order, without Constants
  std::vector<ir::ValueId> results;  // what other nodes read of them
  std::set<ir::NodeId> members;      // the same nodes, to look up

  bool has(ir::NodeId node) const { return members.contains(node); }
};

// kUsage if a node is not of the main graph, if the nodes are in several
// pieces, if other nodes lie between them, and if nothing reads what they
// compute.
Result<Selection> select_nodes(const ir::Graph& graph,
                               std::span<const ir::NodeId> nodes);

// A value that the nodes read and do not compute.
struct Source {
  ir::ValueId value;
  std::string name;
  const ir::Literal* constant = nullptr;  // if it is known
  std::string literal;                    // a small one, as Lua; else ""
  bool prefers = true;                    // the literal, where it may have it
  // False for what only the newest form of a node reads, such as axes that are
  // an attribute in the model.
  bool is_stored = false;
  // Whether an example has it as a constant, if it has it: types follow from
  // small integers.
  bool is_shown = false;
  const ir::Type* type = nullptr;  // of an input of the example

  bool is_input() const { return is_stored && !is_shown; }
  // Whether the pattern has it as a literal, where those are wanted.
  bool is_literal(bool literals) const {
    return !literal.empty() && ((literals && prefers) || !is_stored);
  }
};

// Names of Lua that are unlike all others in the file.
class FreshNames {
 public:
  FreshNames();
  // `stem`, or with a number; "v" for one that is no name.
  std::string take(std::string_view stem);

 private:
  std::set<std::string, std::less<>> taken_;
};

// In the order in which nodes read them. kUsage if there are too many, or if
// the type of an input is not known.
Result<std::vector<Source>> sources_of(ir::Model& model,
                                       ops::NewestNodes& newest,
                                       const Selection& selection,
                                       FreshNames& names);

std::string in_small_letters(std::string_view text);

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
  std::vector<Draft::Size> sizes;            // of the sources that are inputs
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
