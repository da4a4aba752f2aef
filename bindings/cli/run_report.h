// The report of one run: as JSON (the documented form) and as the short table
// that `run` prints.
#ifndef RULEENGINE_BINDINGS_CLI_RUN_REPORT_H_
#define RULEENGINE_BINDINGS_CLI_RUN_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/base/diagnostic.h"
#include "core/engine/engine.h"

namespace ruleengine::cli {

struct RunReport {
  std::string model, output;  // output is "" where none was written
  engine::Report engine;
  double load_seconds = 0, save_seconds = 0;
  // Of a model that failed, beside others; the rest is what was known by then.
  std::optional<Diagnostic> error;
};

// A failed model has one key more: "error", with the parts of its diagnostic.
nlohmann::ordered_json to_json(const RunReport& report);

// Rules that did something, a line for those that matched nowhere and one for
// those that took no part; all with `verbose`. Where nothing was rewritten, how
// to ask why.
std::string summary(const RunReport& report, bool verbose);

// The `--set`s (RULE.OPTION=VALUE) of rules that took no part all the same; a
// sentence for each.
std::vector<std::string> idle_settings(const RunReport& report,
                                       const std::vector<std::string>& sets);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_RUN_REPORT_H_
