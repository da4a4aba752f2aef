// `ruleengine code MODEL`: the graph as Lua.

#include <fmt/format.h>

#include "bindings/api/questions.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

int code(const RuleFlags& flags) {
  auto paths = sort_paths(flags, Wants::kModels);
  if (!paths) return fail(paths.error());
  for (const std::string& path : paths->models) {
    auto model = load_model(path, flags);
    if (!model) return fail(model.error());
    const std::size_t first_new = (*model)->graph.value_count();
    if (auto status = run_first(**model, flags); !status) {
      return fail(status.error());
    }
    const auto text = api::code(**model, first_new, limits_of(flags));
    if (!text) return fail(text.error());
    fmt::print("{}", *text);
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
  code.exact(flags);
}

}  // namespace ruleengine::cli
