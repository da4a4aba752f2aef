// What a model needs of the runtime that reads it, beyond the ops of the
// standard.
#ifndef RULEENGINE_CORE_ENGINE_NEEDS_H_
#define RULEENGINE_CORE_ENGINE_NEEDS_H_

#include <cstdint>
#include <set>
#include <string>

#include "core/ir/model.h"

namespace ruleengine::engine {

struct Needs {
  bool functions = false, overloads = false;  // functions of a model
  std::set<std::string> domains;              // of ops that no function defines
  std::int64_t opset = 0;  // of the standard; 0: an older one will do

  bool none() const {
    return !functions && !overloads && domains.empty() && opset == 0;
  }
  // Without what `other` needs too.
  Needs beyond(const Needs& other) const;
};

Needs needs_of(const ir::Model& model);

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_NEEDS_H_
