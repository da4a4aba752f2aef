// `ruleengine print MODEL`: the model as ONNX text.

#include <fmt/format.h>

#include <string>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/io/load.h"
#include "core/text/print.h"

namespace ruleengine::cli {
namespace {

int print(const Options& options) {
  auto paths = sort_paths(options, Wants::kModels);
  if (!paths) return fail(paths.error());
  for (const std::string& path : paths->models) {
    auto model = load_model(path, options, Use::kLook);
    if (!model) return fail(model.error());
    const std::string text = text::print(**model, {.weights = options.weights});
    if (auto status = check_end(**model, options); !status) {
      return fail(status.error());
    }
    fmt::print("{}\n", text);
  }
  return 0;
}

}  // namespace

void add_print(Line& line) {
  Options& o = line.options;
  VerbLine print = line.add(cli::print, "print", "a model as ONNX text",
                            "ruleengine print model.onnx");
  print.paths("models");
  print.flag("--weights", o.weights, "large constants in full");
}

}  // namespace ruleengine::cli
