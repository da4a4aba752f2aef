// What a run did, as text for people.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/engine/run_report.h"

namespace ruleengine::api {

// How a door spells an option of a run, in general or with a value: "--exact",
// "exact=True". Also "verbose", and "explain": what says why a rule does not
// match; its value is the rule and the model.
using Spell =
    std::function<std::string(std::string_view option, std::string_view value)>;

// A row for each rule with matches, a line for the rules without, and one for
// those that took no part; with `verbose` a row for every rule, and a line for
// every rejection. If nothing was rewritten, what explains it. Several lines,
// without a newline at the end.
std::string text_of(const engine::FileReport& report, const Spell& spell,
                    bool verbose);
// The same of several models, a row each.
std::string table_of(std::span<const engine::FileReport* const> reports);

// The option that may make a rejection go; "" if there is none. `opset`: the
// oldest that can express the rewrite, or 0. `tie`: dimensions that are equal.
std::string hint_of(std::int64_t opset, std::string_view tie,
                    const Spell& spell);

}  // namespace ruleengine::api
