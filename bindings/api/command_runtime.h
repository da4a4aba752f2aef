// A runtime in another process: a command that loads and runs models, told by
// lines on its standard input (docs/tune.md has the protocol). One process for
// each model.
#pragma once

#include <memory>
#include <string>

#include "bindings/api/scratch.h"
#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/engine/measure.h"

namespace ruleengine::api {

class CommandRuntime final : public engine::MeasuredRuntime {
 public:
  struct Settings {
    std::string command;           // for the shell
    std::string inputs;            // an .npz file
    double answer_seconds = 0;     // the most that one answer may take
    Deadline deadline;             // of all
    int threads = 0;               // 0: the runtime's own choice
    std::size_t limit_memory = 0;  // bytes of outputs that are read
  };

  // `scratch` must outlive it.
  CommandRuntime(Settings settings, Scratch& scratch)
      : settings_(std::move(settings)),
        name_(settings_.command),
        scratch_(scratch) {}

  Result<std::unique_ptr<engine::RuntimeSession>> load(
      std::unique_ptr<ir::Model> model) override;
  // What the runtime calls itself, after it loaded a model; else the command.
  std::string name() const override { return name_; }

 private:
  Settings settings_;
  std::string name_;
  Scratch& scratch_;
};

// The command of a runtime's name: "onnxruntime" and "openvino" have adapters
// that come with the program; everything else is a command itself. kUsage where
// the adapter is missing.
Result<std::string> runtime_command(const std::string& name);

}  // namespace ruleengine::api
