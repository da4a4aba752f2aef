// Rewriting many models with the same rules.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bindings/api/rewrite.h"
#include "bindings/api/run_files.h"

namespace ruleengine::api {

// What became of one model. Without an error its result is renamed into place,
// or waits in `result`.
struct Outcome : Rewritten {
  Status status;
  bool spoils_beside = false;  // its data is one of RunFiles::beside
};

struct BatchOptions {
  RewriteOptions how;
  RunFiles files;
  std::size_t jobs = 1;  // threads, each with rules of its own
  bool waits = false;    // results are not renamed into place; they stay open
  // What follows is called from these threads; each may be empty. Of the model
  // with this path:
  std::function<Progress(const std::string& model)> progress;
  std::function<void(const std::string& model, const std::string& message)>
      warn;
  // When it is done.
  std::function<void(Outcome&)> done;
};

// The models in their order. An error where prepare_files() fails, or where the
// rules cannot be loaded; `warn` hears of their faults with the model "".
Result<std::vector<Outcome>> rewrite_all(const BatchOptions& options);

}  // namespace ruleengine::api
