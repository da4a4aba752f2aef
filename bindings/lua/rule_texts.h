// Rule files where a program that embeds the engine has them, not on the disk. Their paths begin with "memory:/"; libs, rules of packs and files of
// examples that such a file names are looked for below "memory:/" too, and libs
// then among those that ship.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ruleengine::lua {

inline constexpr std::string_view kMemoryRoot = "memory:/";

class RuleTexts {
 public:
  virtual ~RuleTexts() = default;

  // The text of a file; none if there is no such file. `path` is without
  // "memory:/", and has neither "." nor "..". An error ends the load.
  virtual Result<std::optional<std::string>> read(
      const std::string& path) const = 0;

  // The folder of the rules that ship; empty: where they were installed.
  virtual std::string shipped() const { return {}; }
};

}  // namespace ruleengine::lua
