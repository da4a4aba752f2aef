// Rule: a pattern and what to do with its matches, as the driver sees it.
// bindings/lua makes rules out of rule files; tests make them out of C++. A
// rule keeps no state between calls.
#ifndef RULEENGINE_CORE_REWRITE_RULE_H_
#define RULEENGINE_CORE_REWRITE_RULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/match/match.h"
#include "core/pattern/pattern.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

enum class Phase : std::uint8_t {
  kCanonical,
  kConversion,
  kAttention,
  kQuantization,
  kLinear,
  kParallel,
  kTarget,
};
std::string_view phase_name(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

// A match that passed `where`, with whatever `where` computed onto it.
class Candidate {
 public:
  virtual ~Candidate() = default;
  // The key of `together`; equal keys go together. Empty without `together`.
  virtual const std::string& key() const = 0;
  // What `where` and `together` assumed.
  virtual std::span<const Assumption> assumptions() const { return {}; }
};

struct Warning {
  std::string rule;
  std::string node;     // describe() of the node
  std::string message;  // "Skipping attend at ...: reason"
  // An option lets the match go on all the same: for the report alone.
  bool allowed = false;
};

// What a pass does: one transaction after another, of which one is open. Kept
// ones stay, whatever becomes of the pass.
class Transactions {
 public:
  virtual ~Transactions() = default;

  virtual Edit& edit() = 0;  // the open one
  // Keeps what it did, or undoes it for a reason, which is reported as met at
  // `node` (invalid: the whole graph); the next one is open then. A Diagnostic
  // ends the run.
  virtual Status end(ir::NodeId node, std::optional<Rejection> rejection) = 0;
};

class Rule {
 public:
  virtual ~Rule() = default;

  virtual const std::string& name() const = 0;       // "compose_..."
  virtual const std::string& qualified() const = 0;  // "attention/compose_..."
  virtual const std::string& file() const = 0;       // as given by the user
  virtual Phase phase() const = 0;
  // Names of rules of the same phase that come first.
  virtual const std::vector<std::string>& after() const = 0;
  virtual bool groups() const = 0;  // has `together`
  // Its matches are reported, and nothing is rewritten: apply() is not called.
  virtual bool is_lint() const { return false; }
  // `meta`: metadata of every new node; goes into the Edit's Provenance.
  virtual std::vector<std::pair<std::string, std::string>> meta() const {
    return {};
  }

  // nullptr for a rule that is only a `pass`.
  virtual const pattern::Pattern* pattern() const = 0;

  // `when(graph, options)`: does the rule take part at all? Errors of the rule
  // file are Diagnostics, here and below (kind kRule or kLimit).
  virtual Result<bool> enabled(ir::Graph& graph, ir::Facts& facts) = 0;

  // `where`: none and a reason, or a candidate. Warnings of `refuse` are
  // appended.
  using Filtered = std::variant<std::unique_ptr<Candidate>, Rejection>;
  virtual Result<Filtered> filter(const match::Match& match, ir::Graph& graph,
                                  ir::Facts& facts,
                                  std::vector<Warning>& warnings) = 0;

  // `rewrite`: builds through `edit` and replaces the results; one candidate,
  // or the members of one group. Does not commit. A rejection ends the match.
  virtual Result<std::optional<Rejection>> apply(
      std::span<Candidate* const> candidates, Edit& edit) = 0;

  virtual bool has_pass() const = 0;
  // `pass(graph)`: ends each transaction that did something; a rule without one
  // does nothing.
  virtual Status pass(Transactions& transactions) = 0;
};

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_RULE_H_
