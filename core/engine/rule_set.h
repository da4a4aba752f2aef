// Whoever writes rules, as the engine sees them: bindings/lua today.
#ifndef RULEENGINE_CORE_ENGINE_RULE_SET_H_
#define RULEENGINE_CORE_ENGINE_RULE_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/rewrite/rule.h"

namespace ruleengine::engine {

// Rules that were loaded together. One thread at a time.
class RuleSet {
 public:
  virtual ~RuleSet() = default;

  // In the order in which they work. They live as long as the set.
  virtual const std::vector<rewrite::Rule*>& rules() const = 0;
  // What is odd about them, a sentence each.
  virtual const std::vector<std::string>& warnings() const = 0;

  // A setting that names none of these rules, and the error that this is where
  // no other set of the run has the rule.
  struct Unclaimed {
    std::string setting;  // as it was given
    Diagnostic error;
  };
  virtual const std::vector<Unclaimed>& unclaimed() const = 0;

  // Of a rule whose `when` says no to this graph: the options, as they stand,
  // of which each turned the other way would make it say yes, as in
  // "enable = false". "" where there is none.
  virtual std::string switches(std::size_t rule, ir::Graph& graph,
                               ir::Facts& facts) const = 0;
};

// Loads rules, any number of sets. Safe on any thread.
class RuleSource {
 public:
  virtual ~RuleSource() = default;

  virtual Result<std::unique_ptr<RuleSet>> load(
      const std::vector<std::string>& paths) const = 0;
  // Of the rules that ship with the program, by their paths below rules/.
  virtual Result<std::unique_ptr<RuleSet>> load_shipped(
      const std::vector<std::string>& paths) const = 0;
};

// A rule whose `when` says no to a graph.
struct Absent {
  std::string name, qualified;
  std::string switches;  // of RuleSet
};

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_RULE_SET_H_
