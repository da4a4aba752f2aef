// The types of the values of a model that is to run, inferred by the rules of
// its ops when somebody asks first; in a function, from what all of its calls
// give it. Not thread-safe; the model must outlive it.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ir/model.h"
#include "runtime/preparation.h"

namespace ruleengine::runtime {

class ModelTypes {
 public:
  // The nodes that call a function, by its body.
  using Calls = std::map<const ir::Graph*,
                         std::vector<std::pair<const ir::Graph*, ir::NodeId>>>;

  ModelTypes(const ir::Model& model, Calls calls)
      : model_(model), calls_(std::move(calls)) {}

  // Of the main graph of the model, or of one of its functions.
  ValueTypes& of(const ir::Graph& graph);

 private:
  class GraphTypes;

  // What all calls of a function give as input `i`; nullptr: not alike.
  const ir::Type* given(const ir::Graph& body, std::size_t i);

  const ir::Model& model_;
  const Calls calls_;
  std::shared_ptr<ir::Model> copy_;  // inference adds to the model
  std::map<const ir::Graph*, std::unique_ptr<ValueTypes>> graphs_;
};

}  // namespace ruleengine::runtime
