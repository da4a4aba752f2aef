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
  Options& o = line.options;
  CLI::App* code = add_verb(line, cli::code, "code",
                            "the graph of a model as Lua, one statement a node",
                            "ruleengine code model.onnx > model.lua");
  add_paths(code, o, "models");
  add_first(code, o);
  add_rule_options(code, o);
  add_exact(code, o);
}

}  // namespace ruleengine::cli
