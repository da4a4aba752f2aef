// Rule: a pattern and what to do with its matches, as the driver sees it.
// bindings/lua makes rules from rule files; tests make them in C++. A rule
// keeps no state between calls.
#pragma once

#include <cstdint>
#include <limits>
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
  kExpansion,
  kCanonical,
  kConversion,
  kAttention,
  kQuantization,
  kLinear,
  kParallel,
  kTarget,
  kSimplify,
};
// Whether edits of the phase stay only where another rule needs them or the
// graph gets smaller.
constexpr bool is_lent(Phase phase) {
  return phase == Phase::kCanonical || phase == Phase::kSimplify;
}
std::string_view phase_name(Phase phase);
std::span<const std::string_view> phase_names();
std::optional<Phase> phase_from_name(std::string_view name);

// A match that passed `where`, with the values that `where` computed.
class Candidate {
 public:
  virtual ~Candidate() = default;
  // The key of `together`; matches with equal keys are rewritten as one. Empty
  // without `together`.
  virtual const std::string& key() const = 0;
  // The assumptions of `where` and `together`.
  virtual std::span<const Assumption> assumptions() const { return {}; }
};

struct Warning {
  std::string rule;
  std::string node;     // its description
  std::string message;  // "Skipping attend at ...: reason"
  // Whether an option let the match go on; then the warning is only in the
  // report.
  bool allowed = false;
};

// The transactions of a pass: one after another, one of them open. A kept one
// stays, whatever happens in the rest of the pass.
class Transactions {
 public:
  virtual ~Transactions() = default;

  virtual Edit& edit() = 0;  // the open one
  // Ends the open transaction and opens the next one. Keeps its changes, or
  // undoes them for a reason, which is reported at `node` (invalid: the whole
  // graph). A Diagnostic ends the run.
  virtual Status end(ir::NodeId node, std::optional<Rejection> rejection) = 0;
};

// How far the rewrites of an edit may move the outputs of a model.
struct Deviation {
  static constexpr double kAny = std::numeric_limits<double>::infinity();

  double abs = kAny, rel = kAny;

  bool is_bounded() const { return abs < kAny && rel < kAny; }
};

class Rule {
 public:
  virtual ~Rule() = default;

  virtual const std::string& name() const = 0;       // "compose_..."
  virtual const std::string& qualified() const = 0;  // "attention/compose_..."
  virtual const std::string& file() const = 0;       // as given by the user
  virtual Phase phase() const = 0;
  // Names of rules of the same phase that run before this one.
  virtual const std::vector<std::string>& after() const = 0;
  virtual bool groups() const = 0;  // has `together`
  // A lint reports its matches and rewrites nothing: apply() is not called.
  virtual bool is_lint() const { return false; }
  // Of a rule that is an edit, not an equation.
  virtual std::optional<Deviation> changes_meaning() const { return {}; }
  // Metadata of every new node, for the Provenance of the Edit.
  virtual std::vector<std::pair<std::string, std::string>> meta() const {
    return {};
  }

  // nullptr for a rule that has only a `pass`.
  virtual const pattern::Pattern* pattern() const = 0;

  // `when(graph, options)`: whether the rule takes part. Errors of the rule
  // file are Diagnostics, here and below (kind kRule or kLimit).
  virtual Result<bool> enabled(ir::Graph& graph, ir::Facts& facts) = 0;

  // `where`: a candidate, or the reason for rejection. Appends the warnings of
  // `refuse`.
  using Filtered = std::variant<std::unique_ptr<Candidate>, Rejection>;
  virtual Result<Filtered> filter(const match::Match& match, ir::Graph& graph,
                                  ir::Facts& facts,
                                  std::vector<Warning>& warnings) = 0;

  // `rewrite`: builds through `edit` and replaces the results; for one
  // candidate or the members of one group. Does not commit. A rejection ends
  // the match.
  virtual Result<std::optional<Rejection>> apply(
      std::span<Candidate* const> candidates, Edit& edit) = 0;

  virtual bool has_pass() const = 0;
  // `pass(graph)`: must end each transaction that changed something. A rule
  // without a pass does nothing.
  virtual Status pass(Transactions& transactions) = 0;
};

}  // namespace ruleengine::rewrite
