#include "bindings/api/questions.h"

#include <utility>

#include "bindings/api/models.h"
#include "bindings/api/rules.h"
#include "bindings/lua/code.h"
#include "core/rewrite/portable.h"
#include "core/text/print.h"

namespace ruleengine::api {
namespace {

template <typename T>
Result<T> checked(Result<T> answer, const ir::Model& model,
                  const Deadline& deadline) {
  if (!answer) return answer;
  auto status = check_end(model, deadline);
  return status ? std::move(answer) : Result<T>(status.error());
}

}  // namespace

Result<engine::Matches> match(ir::Model& model, const engine::RuleSet& rules,
                              const engine::RunOptions& options) {
  return checked(engine::match(model, rules, options), model,
                 options.limits.deadline);
}

Result<std::vector<engine::Explanation>> explain(
    ir::Model& model, const engine::RuleSet& rules, const std::string& node,
    const engine::RunOptions& options, std::size_t most) {
  return checked(engine::explain(model, rules, node, options, most), model,
                 options.limits.deadline);
}

Result<engine::Coverage> coverage(ir::Model& model,
                                  const engine::RuleSet& rules,
                                  const engine::RunOptions& options) {
  return checked(engine::coverage(model, rules, options), model,
                 options.limits.deadline);
}

Result<engine::Collectives> collectives(ir::Model& model,
                                        const engine::RuleSet& rules,
                                        const engine::RunOptions& options) {
  return checked(engine::collectives(model, rules, options), model,
                 options.limits.deadline);
}

Json to_json(const std::string& model, const engine::Matches& matches) {
  Json out = Json::array();
  for (const auto& each : matches.found) {
    out.push_back(engine::to_json(model, each));
  }
  return out;
}

Json to_json(const std::string& model, const ir::Graph& graph,
             const std::vector<engine::Explanation>& explanations) {
  Json out = Json::array();
  for (const auto& each : explanations) {
    out.push_back(engine::to_json(model, graph, each));
  }
  return out;
}

Result<std::string> print(const ir::Model& model, bool weights,
                          const Limits& limits) {
  return checked<std::string>(text::print(model, {.weights = weights}), model,
                              limits.deadline);
}

Result<std::string> code(const ir::Model& model, std::size_t first_new,
                         const Limits& limits) {
  return checked(lua::code_of(model, first_new), model, limits.deadline);
}

Result<io::Staged> build(const std::string& code_file, ir::Model& model,
                         const std::string& output, const Limits& limits) {
  auto made = lua::rebuild(model, code_file, sandbox_limits(limits));
  if (!made) return made.error();
  const auto bare = rewrite::write_portable(model, {.more = *made});
  if (!bare) return bare.error();
  if (auto status = check_end(model, limits.deadline); !status) {
    return status.error();
  }
  return stage_model(model, output);
}

}  // namespace ruleengine::api
