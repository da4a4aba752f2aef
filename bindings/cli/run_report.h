// The report of one run: as JSON (the documented form) and as the short table
// that `run` prints.
#ifndef RULEENGINE_BINDINGS_CLI_RUN_REPORT_H_
#define RULEENGINE_BINDINGS_CLI_RUN_REPORT_H_

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/rewrite/driver.h"

namespace ruleengine::cli {

struct RunReport {
  std::string model, output;  // output is "" with --dry-run
  std::map<std::string, std::uint64_t> ops_before, ops_after;
  rewrite::Report engine;
  double load_seconds = 0, save_seconds = 0;
};

nlohmann::ordered_json to_json(const RunReport& report);

// Rules that did something, and one line for the rest; all with `verbose`.
std::string summary(const RunReport& report, bool verbose);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_RUN_REPORT_H_
