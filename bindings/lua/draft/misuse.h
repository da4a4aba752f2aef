// Faults of what a user asks to draft. Internal to bindings/lua/draft.
#pragma once

#include <string>
#include <utility>

#include "core/base/diagnostic.h"

namespace ruleengine::lua {

inline Diagnostic misuse(std::string what, std::string where,
                         std::string hint = {}) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .where = std::move(where),
          .hint = std::move(hint)};
}

}  // namespace ruleengine::lua
