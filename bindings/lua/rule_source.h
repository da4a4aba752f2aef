// Rule files as a RuleSource of core/engine: rules written in Lua.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "core/engine/rule_set.h"

namespace ruleengine::lua {

// The folder of the rules that ship; `texts` may name it, and be null.
Result<std::string> rules_folder(const RuleTexts* texts);

class RuleFiles final : public engine::RuleSource {
 public:
  // `options` are set in each set of rules that has them.
  RuleFiles(std::vector<SetOption> options, SandboxLimits limits,
            std::shared_ptr<const RuleTexts> texts = nullptr);

  Result<std::unique_ptr<engine::RuleSet>> load(
      const std::vector<std::string>& paths) const override;
  Result<std::unique_ptr<engine::RuleSet>> load_shipped(
      const std::vector<std::string>& paths) const override;

 private:
  std::vector<SetOption> options_;
  SandboxLimits limits_;
  std::shared_ptr<const RuleTexts> texts_;
};

}  // namespace ruleengine::lua
