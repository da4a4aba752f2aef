// `ruleengine build CODE MODEL`: makes a model from Lua that `code` printed.

#include "bindings/api/questions.h"
#include "bindings/api/run_files.h"
#include "bindings/cli/output.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct BuildFlags : Flags {
  std::string output;
};

int build(const BuildFlags& flags) {
  auto paths = sort_paths(flags, Wants::kBoth);
  if (!paths) return fail(paths.error());
  if (paths->rules.size() != 1 || paths->models.size() != 1) {
    return fail({ErrorKind::kUsage, "expected one Lua file and one model", "",
                 "", "", flags.example});
  }
  const auto output = Output::create(
      flags.output,
      api::is_text_model(paths->models[0]) ? ".onnxtxt" : ".onnx");
  if (!output) return fail(output.error());
  const auto files = api::prepare_files({.models = paths->models,
                                         .rules = paths->rules,
                                         .output = output->path()},
                                        limits_of(flags));
  if (!files) return fail(files.error());
  auto model = load_model(paths->models[0], flags);
  if (!model) return fail(model.error());
  auto staged =
      api::build(paths->rules[0], **model, output->path(), limits_of(flags));
  if (!staged) return fail(staged.error());
  auto status = staged->commit();
  if (status) status = output->finish();
  return status ? 0 : fail(status.error());
}

}  // namespace

void add_build(Line& line) {
  auto [build, flags] = line.add(
      cli::build, "build",
      "make a model from Lua that `code` printed; weights are the model's",
      "ruleengine build model.lua model.onnx -o again.onnx");
  build.paths("FILE.lua MODEL", flags,
              "the Lua file, and the model that it was printed from");
  build.option("-o", flags.output, "the result; - for stdout")
      .takes("MODEL")
      .required();
  build.load_limits(flags);
}

}  // namespace ruleengine::cli
