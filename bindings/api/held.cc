#include "bindings/api/held.h"

#include <utility>

#include "bindings/api/questions.h"

namespace ruleengine::api {
namespace {

// A question, asked of a copy.
template <typename Ask>
Result<Json> ask(const Ask& question, const Rewriter& rules,
                 const Held& model) {
  const auto copy = copy_of(*model.model, rules.model_options().limits);
  const auto answer = question(*copy, rules.rules(), rules.run_options());
  if (!answer) return answer.error();
  return to_json(model.name, *answer);
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

Result<Json> match_json(const Rewriter& rules, const Held& model) {
  return ask(match, rules, model);
}

Result<Json> explain_json(const Rewriter& rules, const Held& model,
                          const std::string& node, std::size_t most) {
  const auto copy = copy_of(*model.model, rules.model_options().limits);
  const auto all =
      api::explain(*copy, rules.rules(), node, rules.run_options(), most);
  if (!all) return all.error();
  return to_json(model.name, copy->graph, *all);
}

Result<Json> coverage_json(const Rewriter& rules, const Held& model) {
  return ask(coverage, rules, model);
}

Result<Json> collectives_json(const Rewriter& rules, const Held& model) {
  return ask(collectives, rules, model);
}

}  // namespace ruleengine::api
