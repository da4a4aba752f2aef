// `ruleengine code MODEL`: the graph as Lua.

#include <fmt/format.h>

#include "bindings/api/questions.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

int code(const RuleFlags& flags) {
  for (const auto& path : sort_paths(flags, Wants::kModels).models) {
    const auto model = load_model(path, flags);
    const std::size_t first_new = model->graph.value_count();
    run_first(*model, flags);
    fmt::print("{}", take(api::code(*model, first_new, limits_of(flags))));
  }
  return 0;
}

}  // namespace

void add_code(Line& line) {
  auto [code, flags] = line.add(
      cli::code, "code", "the graph of a model as Lua, one statement a node",
      "ruleengine code model.onnx > model.lua");
  code.paths("MODEL", flags, "models");
  code.first(flags);
  code.rules(flags);
}

}  // namespace ruleengine::cli
