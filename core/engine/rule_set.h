// Where rules come from, as the engine sees it; bindings/lua implements it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/rewrite/rule.h"

namespace ruleengine::engine {

class OpBody;  // core/engine/op_bodies.h

// Rules that were loaded together. One thread at a time.
class RuleSet {
 public:
  virtual ~RuleSet() = default;

  // In the order in which they run. They live as long as the set.
  virtual const std::vector<rewrite::Rule*>& rules() const = 0;
  // Warnings about the rules, one sentence each.
  virtual const std::vector<std::string>& warnings() const = 0;

  // A setting that names none of these rules, and the error to report if no
  // other set of the run has that rule either.
  struct Unclaimed {
    std::string setting;  // as it was given
    Diagnostic error;
  };
  virtual const std::vector<Unclaimed>& unclaimed() const = 0;

  // What ops of the user's own mean, at most one body for each op. They live as
  // long as the set.
  virtual const std::vector<const OpBody*>& bodies() const = 0;

  // For a rule whose `when` returns false for this graph: the options with
  // their values, such as "enable = false". Changing any one of them would make
  // `when` return true. "" if there is no such option.
  virtual std::string switches(std::size_t rule, ir::Graph& graph,
                               ir::Facts& facts) const = 0;
};

// Loads rules, any number of sets. Thread-safe.
class RuleSource {
 public:
  virtual ~RuleSource() = default;

  virtual Result<std::unique_ptr<RuleSet>> load(
      const std::vector<std::string>& paths) const = 0;
  // Loads rules that ship with the program, by their paths below rules/.
  virtual Result<std::unique_ptr<RuleSet>> load_shipped(
      const std::vector<std::string>& paths) const = 0;
};

// A rule whose `when` returned false for a graph.
struct Absent {
  std::string name, qualified;
  std::string switches;  // as RuleSet::switches gives them
};

}  // namespace ruleengine::engine
