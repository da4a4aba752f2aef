// `ruleengine tune`: `run` with the rewrites that a runtime gains from.

#include "bindings/cli/run.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

// --dims sizes the inputs that are measured.
int tune(const RunFlags& given) {
  parse_dims(given.in, false);
  RunFlags flags = given;
  flags.if_faster = flags.every_target = true;
  return run_models(flags);
}

}  // namespace

void add_tune(Line& line) {
  auto [tune, flags] =
      line.add(cli::tune, "tune", "keep the rewrites that a runtime gains from",
               "ruleengine tune model.onnx --runtime onnxruntime");
  tune.paths("MODEL|RULE", flags,
             "models (*.onnx, *.onnxtxt), and rules; all rules that come with "
             "the program");
  tune.option("-o", flags.output,
              "the result; NAME.rewritten.onnx beside the model")
      .takes("MODEL|FOLDER");
  add_target(tune, flags, "one target instead of all");
  tune.inputs(flags, flags.in);
  add_run_options(tune, flags);
}

}  // namespace ruleengine::cli
