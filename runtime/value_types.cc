#include "runtime/value_types.h"

#include <optional>

namespace ruleengine::runtime {

class ModelTypes::GraphTypes final : public ValueTypes {
 public:
  GraphTypes(ModelTypes& all, const ir::Graph& graph)
      : all_(all), graph_(graph) {}

  const ir::Type* of(ir::ValueId value) override {
    if (!inference_) inference_.emplace(all_.copy_of(graph_));
    return inference_->type(value);
  }

 private:
  ModelTypes& all_;
  const ir::Graph& graph_;
  std::optional<analysis::Inference> inference_;
};

ValueTypes& ModelTypes::of(const ir::Graph& graph) {
  std::unique_ptr<ValueTypes>& known = graphs_[&graph];
  if (known == nullptr) known = std::make_unique<GraphTypes>(*this, graph);
  return *known;
}

ir::Graph& ModelTypes::copy_of(const ir::Graph& graph) {
  if (copy_ == nullptr) copy_ = model_.copy();
  for (std::size_t i = 0; i < model_.functions.size(); ++i) {
    if (&model_.functions[i]->body == &graph) return copy_->functions[i]->body;
  }
  return copy_->graph;
}

}  // namespace ruleengine::runtime
