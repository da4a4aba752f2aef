// What every use of the engine may choose, and what it runs with.
#ifndef RULEENGINE_CORE_ENGINE_OPTIONS_H_
#define RULEENGINE_CORE_ENGINE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/rewrite/driver.h"

namespace ruleengine::engine {

struct Options {
  // "auto", or the name of one of core/engine/target.h.
  std::string target = "auto";
  // The result's opset of the standard domain, at least; 0: the model's own.
  std::int64_t opset = 0;
  bool exact = false;  // rewrites that rest on an assumption are rejected
  rewrite::Limits limits;
};

// kUsage for targets and opsets that are not there, or do not go together.
Status check(const Options& options);

// What is known of a graph: types, shapes and constants, inferred on demand.
std::unique_ptr<ir::Facts> facts_of(ir::Graph& graph);

rewrite::Options rewrite_options(const Options& options);

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_OPTIONS_H_
