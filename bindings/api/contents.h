// What a model contains: its inputs, outputs, nodes and weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/api/limits.h"
#include "core/base/result.h"
#include "core/engine/json.h"
#include "core/engine/run_report.h"
#include "core/ir/model.h"

namespace ruleengine::api {

// All of it refers to the model.
struct Contents {
  struct Value {
    std::string name;                // "" for an absent output
    const ir::Type* type = nullptr;  // if known
  };
  struct Node {
    ir::NodeId id;
    std::string op, name;
    std::vector<std::string> inputs;  // "-" for an absent one
    std::vector<Value> outputs;
  };
  // An initializer that something reads.
  struct Weight {
    std::string name, dtype;
    std::vector<std::int64_t> shape;
    std::int64_t bytes = 0;
    std::vector<std::string> readers;  // labels of nodes, or "an output"
  };

  const ir::Graph* graph = nullptr;
  std::vector<Value> inputs, outputs;
  std::vector<Node> nodes;      // of the main graph, in computation order
  std::vector<Weight> weights;  // also of subgraphs, in the order of the file
  engine::OpCounts ops;
};

// Fails for a graph with a cycle, if the deadline has passed, or if the file of
// the model has changed meanwhile.
Result<Contents> contents(ir::Model& model, const Limits& limits);

// "float[2,N]", or "-" for an absent value. Shortens long names of dimensions.
std::string type_text(const Contents& contents, const Contents::Value& value);
// "axis = 1", one for each attribute, as in ONNX text.
std::vector<std::string> attribute_texts(const Contents& contents,
                                         const Contents::Node& node);

// `model`: the name of the model as the caller gave it.
Json to_json(const std::string& model, const Contents& contents);

}  // namespace ruleengine::api
