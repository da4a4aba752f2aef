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
  const auto [rules, models] = sort_paths(flags, Wants::kBoth);
  if (rules.size() != 1 || models.size() != 1) {
    throw misuse("expected one Lua file and one model", "", "", flags.example);
  }
  const Output output(flags.output,
                      api::is_text_model(models[0]) ? ".onnxtxt" : ".onnx");
  take(api::prepare_files(
      {.models = models, .rules = rules, .output = output.path()},
      limits_of(flags)));
  const auto model = load_model(models[0], flags);
  auto staged =
      take(api::build(rules[0], *model, output.path(), limits_of(flags)));
  check(staged.commit());
  output.finish();
  return 0;
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
