#include "runtime/value_types.h"

#include <algorithm>
#include <optional>

#include "runtime/lowering.h"

namespace ruleengine::runtime {

class ModelTypes::GraphTypes final : public ValueTypes {
 public:
  GraphTypes(ModelTypes& all, const ir::Graph& graph)
      : all_(all), graph_(graph) {}

  const ir::Type* of(ir::ValueId value) override {
    if (!inference_) {
      if (all_.copy_ == nullptr) all_.copy_ = all_.model_.copy();
      ir::Graph& copy = graph_in(*all_.copy_, all_.model_, graph_);
      const auto& inputs = copy.block(ir::Graph::main_block()).inputs;
      const bool is_called = all_.calls_.contains(&graph_);
      for (std::size_t i = 0; is_called && i < inputs.size(); ++i) {
        const ir::Type* type = all_.given(graph_, i);
        if (type != nullptr) copy.mutable_value(inputs[i]).declared = type;
      }
      inference_.emplace(copy);
    }
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

const ir::Type* ModelTypes::given(const ir::Graph& body, std::size_t i) {
  const ir::Type* out = nullptr;
  for (const auto& [graph, node] : calls_.at(&body)) {
    const auto inputs = graph->inputs(node);
    if (i >= inputs.size() || !inputs[i].value) return nullptr;
    const ir::Type* type = of(*graph).of(inputs[i].value);
    const bool is_alike =
        type != nullptr && type->is_tensor() &&
        (out == nullptr ||
         (type->elem == out->elem && type->has_shape == out->has_shape &&
          std::ranges::equal(type->dims, out->dims)));
    if (!is_alike) return nullptr;
    out = type;
  }
  return out;
}

}  // namespace ruleengine::runtime
