#include "bindings/api/held.h"

#include <utility>

#include "bindings/api/questions.h"

namespace ruleengine::api {
namespace {

// `json` makes JSON of an answer.
template <typename T, typename F>
Result<Json> json_of(const Result<T>& answer, F&& json) {
  if (!answer) return answer.error();
  return json(*answer);
}

std::shared_ptr<ir::Model> copy_for(const Rewriter& rules, const Held& model) {
  return copy_of(*model.model, rules.model_options().limits);
}

}  // namespace

Result<std::shared_ptr<Held>> rewrite(Rewriter& rules,
                                      const std::shared_ptr<const Held>& model,
                                      const Progress& progress,
                                      engine::FileReport& report) {
  auto out = std::make_shared<Held>();
  out->base = model;
  out->name = model->name;
  auto made = rules.rewrite(
      model->model, {.model = model->name, .progress = progress}, report);
  if (!made) {
    report.error = made.error();
    return made.error();
  }
  out->model = *std::move(made);
  return out;
}

Result<Json> match(const Rewriter& rules, const Held& model) {
  const auto copy = copy_for(rules, model);
  return json_of(api::match(*copy, rules.rules(), rules.run_options()),
                 [&](const auto& all) { return to_json(model.name, all); });
}

Result<Json> explain(const Rewriter& rules, const Held& model,
                     const std::string& node, std::size_t most) {
  const auto copy = copy_for(rules, model);
  return json_of(
      api::explain(*copy, rules.rules(), node, rules.run_options(), most),
      [&](const auto& all) { return to_json(model.name, copy->graph, all); });
}

Result<Json> coverage(const Rewriter& rules, const Held& model) {
  const auto copy = copy_for(rules, model);
  return json_of(
      api::coverage(*copy, rules.rules(), rules.run_options()),
      [&](const auto& found) { return engine::to_json(model.name, found); });
}

Result<Json> collectives(const Rewriter& rules, const Held& model) {
  const auto copy = copy_for(rules, model);
  return json_of(
      api::collectives(*copy, rules.rules(), rules.run_options()),
      [&](const auto& found) { return engine::to_json(model.name, found); });
}

}  // namespace ruleengine::api
