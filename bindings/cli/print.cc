// `ruleengine print MODEL`: the model as ONNX text.

#include <fmt/format.h>

#include "bindings/api/questions.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct PrintFlags : Flags {
  bool weights = false;
};

int print(const PrintFlags& flags) {
  for (const auto& path : sort_paths(flags, Wants::kModels).models) {
    const auto model = load_model(path, flags, Use::kLook);
    fmt::print("{}\n",
               take(api::print(*model, flags.weights, limits_of(flags))));
  }
  return 0;
}

}  // namespace

void add_print(Line& line) {
  auto [print, flags] = line.add(cli::print, "print", "a model as ONNX text",
                                 "ruleengine print model.onnx");
  print.paths("MODEL", flags, "models");
  print.flag("--weights", flags.weights, "large constants in full");
}

}  // namespace ruleengine::cli
