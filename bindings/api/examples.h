// The examples of rules.
#pragma once

#include <string>
#include <vector>

#include "bindings/api/rules.h"
#include "bindings/lua/examples.h"
#include "core/base/diagnostic.h"
#include "core/engine/json.h"

namespace ruleengine::api {

struct Tested {
  std::vector<lua::ExampleResult> results;
  // Of files that cannot be loaded, then of examples.
  std::vector<Diagnostic> errors;
  std::vector<std::string> warnings;

  std::size_t passed() const;
};

// Runs the examples of the rules of these files, folders and packs. An error in
// one file or example does not stop the others.
Tested test(const std::vector<std::string>& paths, const RuleOptions& options);

engine::Json to_json(const Tested& tested);

}  // namespace ruleengine::api
