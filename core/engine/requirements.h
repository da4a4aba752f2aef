// What a model needs of the runtime that reads it, beyond the ops of the
// standard.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/ir/model.h"

namespace ruleengine::engine {

struct Requirements {
  bool functions = false;         // the model has functions of its own
  bool overloads = false;         // some of one name
  std::set<std::string> domains;  // of ops that no function defines
  // 0, from beyond(): `other` needs it too.
  std::int64_t opset = 0;  // of the standard
  std::int64_t ir_version = 0;

  // None but an IR version.
  bool none() const {
    return !functions && !overloads && domains.empty() && opset == 0;
  }
  // Without what `other` needs too.
  Requirements beyond(const Requirements& other) const;
};

Requirements requirements_of(const ir::Model& model);

}  // namespace ruleengine::engine
