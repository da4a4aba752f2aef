// The options of a run, and the functions of the engine that they need.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/ops/sized_node.h"
#include "core/rewrite/driver.h"

namespace ruleengine::engine {

struct RunOptions {
  // "auto", or the name of a target of core/engine/target.h.
  std::string target = "auto";
  // The minimum opset of the standard domain in the result; 0: the model's own.
  std::int64_t opset = 0;
  bool exact = false;  // rewrites that rest on an assumption are rejected
  // Writes no metadata and no overloads, so that older runtimes read the
  // result; functions still need IR version 8.
  bool keep_ir_version = false;
  rewrite::Limits limits;
  // Keeps canonical forms even if no other rule needed them.
  bool keep_all = false;
  // Asked before each rewrite that a user may do without, as in
  // rewrite::DriverOptions: not of lowering rules, nor of canonical rules that
  // serve others. If set, the report lists the sites of those that took place.
  decltype(rewrite::DriverOptions::permits) permits;
  // Whether the report lists the sites of all rewrites that took place, also of
  // those that `permits` is not asked about.
  bool lists_sites = false;
  // As in rewrite::DriverOptions; may be empty.
  rewrite::Judge judge;
  // Counts what model and result cost, with named dimensions of these sizes.
  std::optional<ops::Sizes::Named> cost_at;
};

// kUsage for an unknown target or opset, and for an opset that the target does
// not allow.
Status check(const RunOptions& options);

// Types, shapes and constants of a graph, inferred on demand.
std::unique_ptr<ir::Facts> facts_of(ir::Graph& graph);

rewrite::DriverOptions rewrite_options(const RunOptions& options);

}  // namespace ruleengine::engine
