// `ruleengine tune`: `run` with the rewrites that a runtime gains from.

#include "bindings/cli/run.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/tuning.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

// --dims sizes the inputs that are measured.
int tune(const Options& given) {
  if (const auto dims = parse_dims(given, false); !dims) {
    return fail(dims.error());
  }
  Options options = given;
  options.if_faster = options.every_target = true;
  return run_models(options);
}

}  // namespace

void add_tune(Line& line) {
  Options& o = line.options;
  VerbLine tune =
      line.add(cli::tune, "tune", "keep the rewrites that a runtime gains from",
               "ruleengine tune model.onnx --runtime onnxruntime");
  tune.paths(
      "models (*.onnx, *.onnxtxt), and rules; all rules that come with "
      "the program");
  tune.option("-o", o.output,
              "the result; NAME.rewritten.onnx beside the model");
  tune.option("--target", o.target, "one target instead of all");
  tune.option("--report", o.report, "write a report as JSON");
  tune.flag("--verify", "model", o.verify,
            "compare model and result by running");
  add_inputs(tune, o);
  add_tuning(tune, o);
  tune.flag("--dry-run", o.dry_run, "do everything but write the result");
  tune.rules();
  tune.exact();
  tune.flag("-q", o.quiet, "only warnings and errors");
  tune.flag("-v", o.verbose, "also the parts of rules, and rejections");
}

}  // namespace ruleengine::cli
