// The report of one run as text: the short table that `run` prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bindings/api/rewrite.h"

namespace ruleengine::cli {

// A row for each rule with matches, a line for the rules without, and one for
// those that took no part; with `verbose` a row for every rule. If nothing was
// rewritten, the command that explains it.
std::string summary(const engine::FileReport& report, bool verbose);
// The same of several models, a row each.
std::string summary_of_all(std::span<const engine::FileReport* const> reports);

// A sentence for each `--set` (RULE.OPTION=VALUE) whose rule took no part in
// spite of it.
std::vector<std::string> idle_settings(const engine::FileReport& report,
                                       const std::vector<std::string>& sets);

}  // namespace ruleengine::cli
