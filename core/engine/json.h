// JSON: what the functions of the engine return, in the documented form. Every
// adapter (the command line, C, Python) hands out these values, so all of them
// give the same bytes. Pure functions, except that the report of a run states
// the memory of the process.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/sample.h"
#include "core/engine/collectives.h"
#include "core/engine/coverage.h"
#include "core/engine/match.h"
#include "core/engine/run_report.h"
#include "core/engine/tuned.h"
#include "core/engine/verify.h"

namespace ruleengine::engine {

// A name for JSON: unchanged if it is UTF-8, else with its bytes escaped.
std::string exact(std::string_view name);

Json exact_all(std::span<const std::string> names);

// Indented by two spaces, with a newline at the end, in ASCII. Bytes that are
// not UTF-8 are replaced.
std::string json_text(const Json& json);

// A failed run has one more key: "error", with the parts of its diagnostic.
Json to_json(const FileReport& report);

// `model`: the name of the model as the caller gave it.
Json to_json(const std::string& model, const rewrite::Found& found);
// `graph`: the main graph of the model.
Json to_json(const std::string& model, const ir::Graph& graph,
             const Explanation& explanation);
Json to_json(const std::string& model, const Coverage& coverage);
Json to_json(const std::string& model, const Collectives& collectives);

Json to_json(const Finding& finding);

Json to_json(const Spread& spread, double unit = 1);
Json to_json(const Tuned& tuned);
struct Recording {
  std::string runtime;
  std::vector<Comparison> measurements;
};
// The measurements in the text of such a report, which the file at `path` has;
// kUsage where there are none.
Result<Recording> recording_of(const std::string& text,
                               const std::string& path);

}  // namespace ruleengine::engine
