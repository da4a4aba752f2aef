// `ruleengine build CODE MODEL`: makes a model from Lua that `code` printed.

#include "bindings/cli/run_paths.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "bindings/lua/code.h"
#include "core/rewrite/portable.h"

namespace ruleengine::cli {
namespace {

Status build_one(const std::string& code_file, const std::string& path,
                 const Options& options) {
  auto model = load_model(path, options);
  if (!model) return model.error();
  auto made =
      lua::rebuild(**model, code_file, api::sandbox_limits(limits_of(options)));
  if (!made) return made.error();
  const auto bare = rewrite::write_portable(**model, {.more = *made});
  if (!bare) return bare.error();
  if (auto status = check_end(**model, options); !status) return status;
  auto staged = api::stage_model(**model, options.output);
  if (!staged) return staged.error();
  return staged->commit();
}

int build(const Options& options) {
  auto paths = sort_paths(options, Wants::kBoth);
  if (!paths) return fail(paths.error());
  if (paths->rules.size() != 1 || paths->models.size() != 1) {
    return fail({ErrorKind::kUsage, "expected one Lua file and one model", "",
                 "", "", options.example});
  }
  if (auto status = check_run_paths(*paths, options); !status) {
    return fail(status.error());
  }
  remove_leftovers(*paths, options);
  auto status = build_one(paths->rules[0], paths->models[0], options);
  return status ? 0 : fail(status.error());
}

}  // namespace

void add_build(Line& line) {
  Options& o = line.options;
  VerbLine build = line.add(
      cli::build, "build",
      "make a model from Lua that `code` printed; weights are the model's",
      "ruleengine build model.lua model.onnx -o again.onnx");
  build.paths("the Lua file, and the model that it was printed from");
  build.option("-o", o.output, "the result").required();
  build.option("--limit-load", o.limit_load, "seconds for the file; 2")
      .seconds();
  build.memory();
}

}  // namespace ruleengine::cli
