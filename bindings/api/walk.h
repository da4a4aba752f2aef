// A model to read: its graphs with their nodes in the order of computation, and
// what is known about each value. For compilers that lower a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/api/limits.h"
#include "core/base/result.h"
#include "core/ir/attribute.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"

namespace ruleengine::api {

// Views of a model, which must outlive it. Graphs and values are numbered: the
// main graph is 0, and values of all graphs are numbered together. One thread
// at a time.
class Walk {
 public:
  static constexpr std::int64_t kNone = -1;

  struct Dim {
    std::int64_t size = kNone;  // kNone: not known
    std::string name;           // "N", "2*N + 1"; "": known, or of no name
  };
  struct Value {
    std::string_view name;
    ir::ValueKind kind = ir::ValueKind::kUndefined;
    // The node that computes it, by its graph and its place there.
    std::int64_t graph = kNone, node = kNone;
    std::size_t readers = 0;         // an output of a graph is one
    const ir::Type* type = nullptr;  // nullptr: not known
    std::vector<Dim> dims;           // of a tensor whose rank is known
    // An initializer, the default of an input, or what a Constant gives.
    const ir::Literal* constant = nullptr;
  };
  struct Node {
    const ir::Op* op = nullptr;
    std::string_view name;
    std::vector<std::int64_t> inputs, outputs;  // values; kNone: left out
    std::span<const ir::Attribute> attributes;
    std::int64_t function = kNone;  // the graph of the function that it calls
  };
  struct Graph {
    std::string_view name;
    std::vector<std::int64_t> inputs, outputs, initializers;  // values
    std::vector<Node> nodes;
    // Of the body of a node: the node whose attribute it is.
    std::int64_t parent = kNone, parent_node = kNone;
    const ir::Function* function = nullptr;  // whose body it is
  };

  static Result<std::unique_ptr<Walk>> create(const ir::Model& model,
                                              const Limits& limits);

  const std::vector<Graph>& graphs() const { return graphs_; }
  const std::vector<Value>& values() const { return values_; }
  // The graph of a body that an attribute of a node of graph `of` has.
  std::int64_t graph_of(std::size_t of, ir::BlockId block) const;
  // The raw bytes of a tensor of numbers: those in the model, or computed once.
  // Valid as long as this.
  Result<std::span<const std::byte>> bytes(const ir::Literal& tensor);

 private:
  explicit Walk(std::shared_ptr<ir::Model> model) : model_(std::move(model)) {}
  Status add(ir::Graph& graph, const ir::Function* function);
  Node node_of(const ir::Graph& graph, ir::NodeId id) const;
  std::int64_t value_of(const ir::Graph& graph, ir::ValueId id) const;
  void number(const ir::Graph& graph);
  void describe(ir::Graph& graph);

  std::shared_ptr<ir::Model> model_;  // a copy that nobody edits
  std::vector<Graph> graphs_;
  std::vector<Value> values_;
  // The main graph and the bodies of functions: the numbers of their graphs and
  // values, by block and by value; kNone for those that rules removed.
  struct Place {
    std::vector<std::int64_t> graphs, values;
  };
  std::map<const ir::Graph*, Place> places_;
  std::vector<const ir::Graph*> sources_;  // of each graph
  std::map<const ir::Literal*, std::vector<std::byte>> computed_;
};

}  // namespace ruleengine::api
