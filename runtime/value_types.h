// The types of the values of a model that is to run, inferred by the rules of
// its ops when somebody asks first. Not thread-safe; the model must outlive it.
#pragma once

#include <map>
#include <memory>

#include "core/analysis/inference.h"
#include "core/ir/model.h"
#include "runtime/preparation.h"

namespace ruleengine::runtime {

class ModelTypes {
 public:
  explicit ModelTypes(const ir::Model& model) : model_(model) {}

  // Of the main graph of the model, or of one of its functions.
  ValueTypes& of(const ir::Graph& graph);

 private:
  class GraphTypes;

  ir::Graph& copy_of(const ir::Graph& graph);

  const ir::Model& model_;
  std::shared_ptr<ir::Model> copy_;  // inference adds to the model
  std::map<const ir::Graph*, std::unique_ptr<ValueTypes>> graphs_;
};

}  // namespace ruleengine::runtime
