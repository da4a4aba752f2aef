// `ruleengine code MODEL`: the graph as Lua. `ruleengine build CODE MODEL`: a
// model of such a file.

#include <fmt/format.h>

#include "bindings/cli/run_paths.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "bindings/lua/code.h"
#include "core/io/load.h"
#include "core/io/save.h"
#include "core/rewrite/portable.h"

namespace ruleengine::cli {
namespace {

Status build_one(const std::string& code_file, const std::string& path,
                 const Options& options) {
  auto model = load_model(path, options);
  if (!model) return model.error();
  auto made = lua::rebuild(**model, code_file, sandbox_limits(options));
  if (!made) return made.error();
  if (auto status = rewrite::write_portable(**model, *made); !status) {
    return status;
  }
  if (auto status = check_end(**model, options); !status) return status;
  auto staged = is_text_model(options.output)
                    ? stage_model_text(options.output, **model)
                    : io::stage(**model, options.output);
  if (!staged) return staged.error();
  return staged->commit();
}

}  // namespace

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

int build(const Options& options) {
  auto paths = sort_paths(options, Wants::kBoth);
  if (!paths) return fail(paths.error());
  if (paths->rules.size() != 1 || paths->models.size() != 1) {
    return fail({ErrorKind::kUsage, "one file of code and one model are wanted",
                 "", "", "", options.example});
  }
  if (auto status = check_run_paths(*paths, options); !status) {
    return fail(status.error());
  }
  remove_leftovers(*paths, options);
  auto status = build_one(paths->rules[0], paths->models[0], options);
  return status ? 0 : fail(status.error());
}

}  // namespace ruleengine::cli
