// What a run did: to one model in memory, and from file to file. Plain values;
// core/engine/json.h gives their documented form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/analysis/cost.h"
#include "core/base/diagnostic.h"
#include "core/engine/rule_set.h"
#include "core/engine/tuned.h"
#include "core/ir/model.h"
#include "core/rewrite/driver.h"

namespace ruleengine::engine {

// "Add" or "com.microsoft::Gelu" -> the number of nodes, including those in
// subgraphs, without those in function bodies.
using OpCounts = std::map<std::string, std::uint64_t>;
OpCounts count_ops(const ir::Model& model);
std::uint64_t total(const OpCounts& counts);

// What a model needs of the runtime that reads it, beyond the ops of the
// standard.
struct Requirements {
  bool functions = false;         // the model has functions of its own
  bool overloads = false;         // some of one name
  std::set<std::string> domains;  // of ops that no function defines
  // 0, from beyond(): `other` needs it too.
  std::int64_t opset = 0;  // of the standard
  std::int64_t ir_version = 0;

  // None but an IR version.
  bool none() const {
    return !functions && !overloads && domains.empty() && opset == 0;
  }
  // Without what `other` needs too.
  Requirements beyond(const Requirements& other) const;
};

Requirements requirements_of(const ir::Model& model);

// What the rewrite is worth.
struct CostChange {
  analysis::Cost before, after;
  ops::Sizes::Named sizes;  // what named dimensions counted as
};

// What a run did to one model.
struct RunReport {
  std::string target;  // the name of a target of target.h
  // Of the standard domain: the model's, and the result's.
  std::int64_t opset_before = 0, opset_after = 0;
  OpCounts ops_before, ops_after;
  Requirements needs;              // of the result, beyond those of the model
  std::optional<CostChange> cost;  // if the options ask for it
  rewrite::DriverReport rewrites;
  std::vector<Absent> absent;  // given rules that took no part

  bool has_rewritten() const;
  // Whether the result is the same graph as the model.
  bool is_untouched() const {
    return opset_after == opset_before && !has_rewritten();
  }
};

// The model and its result were run on the same inputs and agreed; or the
// nodes that each edit changes, before and after it.
struct Verified {
  std::size_t inputs = 0;           // sets of inputs
  double max_abs = 0, max_rel = 0;  // max_rel: of the largest element
  // Of the named dimensions, in the order in which they ran.
  std::map<std::string, std::vector<std::int64_t>> sizes;
  std::uint64_t edits = 0;  // that ran where they were made; 0: the models did
};
// "verified on 9 inputs: B = 1, 3; S = 1, 7, 0".
std::string text_of(const Verified& verified);

// A run that reads a file and writes one.
struct FileReport {
  std::string model, output;  // output is "" if none was written
  RunReport run;
  double load_seconds = 0, save_seconds = 0;
  std::optional<Verified> verified;
  std::string unverified;  // why the result could not be verified
  std::optional<Tuned> tuned;
  // Of the model and the result, in the runtime with this name.
  std::optional<Comparison> measured;
  double noise = 0;  // of the machine
  std::string runtime;
  // Set if the run failed; the other fields hold what was known by then.
  std::optional<Diagnostic> error;
};

}  // namespace ruleengine::engine
