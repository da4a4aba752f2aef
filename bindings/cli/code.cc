// `ruleengine code MODEL`: the graph as Lua.

#include <fmt/format.h>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "bindings/lua/code.h"

namespace ruleengine::cli {
namespace {

int code(const Options& options) {
  auto paths = sort_paths(options, Wants::kModels);
  if (!paths) return fail(paths.error());
  for (const std::string& path : paths->models) {
    auto model = load_model(path, options);
    if (!model) return fail(model.error());
    const std::size_t first_new = (*model)->graph.value_count();
    if (auto status = run_first(**model, options); !status) {
      return fail(status.error());
    }
    auto text = lua::code_of(**model, first_new);
    if (!text) return fail(text.error());
    if (auto status = check_end(**model, options); !status) {
      return fail(status.error());
    }
    fmt::print("{}", *text);
  }
  return 0;
}

}  // namespace

void add_code(Line& line) {
  VerbLine code = line.add(cli::code, "code",
                           "the graph of a model as Lua, one statement a node",
                           "ruleengine code model.onnx > model.lua");
  code.paths("models");
  code.first();
  code.rules();
  code.exact();
}

}  // namespace ruleengine::cli
