#include "bindings/lua/fuzz.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "bindings/lua/example_texts.h"
#include "bindings/lua/rule_alone.h"
#include "core/engine/options.h"
#include "core/ir/narrow_float.h"
#include "core/mutate/mutant.h"
#include "core/text/print.h"
#include "core/verify/verify.h"

namespace ruleengine::lua {
namespace {

// Of each mutant that is wanted.
constexpr std::size_t kMostTries = 10;
// After so many wrong mutants the smallest of them is shown.
constexpr std::size_t kMostWrong = 3;

// How much more may be lost of numbers that are large.
constexpr double kExtreme = 256;

using Changes = std::vector<mutate::Change>;

// What became of one mutant.
struct Outcome {
  enum Kind {
    kNone,     // no valid model, or one that cannot be run
    kQuiet,    // the rule did not fire
    kUnknown,  // fired, and cannot be compared
    kRight,
    kAssumed,  // differs, but only where an assumption is made
    kDiffers,
    kFails,
  };
  Kind kind = kNone;
  std::string detail, shown_by, text;

  bool is_wrong() const { return kind == kDiffers || kind == kFails; }
};

// Which floats the main graph has.
struct Floats {
  bool float16 = false, bfloat16 = false, small = false, wide = false;

  bool is_short() const { return float16 || bfloat16; }
  // What may be lost where numbers are added or rounded in another order, as
  // a part of the largest: some units in the last place of the coarsest.
  double rounding() const {
    return bfloat16 ? 0x1p-4 : float16 ? 0x1p-7 : 0x1p-20;
  }
};

Floats floats_of(const ir::Graph& graph) {
  Floats out;
  const auto note = [&out](ir::DataType elem) {
    out.float16 |= elem == ir::DataType::kFloat16;
    out.bfloat16 |= elem == ir::DataType::kBfloat16;
    out.small |= ir::is_narrow_float(elem) && ir::bit_width(elem) < 16;
    out.wide |= elem == ir::DataType::kDouble;
  };
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(ir::ValueId(i));
    if (value.removed) continue;
    if (value.declared != nullptr) note(value.declared->elem);
    if (value.tensor != nullptr) note(value.tensor->dtype);
  }
  for (const ir::NodeId node : graph.live_nodes()) {
    for (const ir::Attribute& a : graph.node(node).attributes) {
      if (mutate::names_type(a)) note(static_cast<ir::DataType>(a.i));
    }
  }
  return out;
}

// The mutants of one example.
class ExampleFuzz {
 public:
  ExampleFuzz(Sandbox& sandbox, const LoadedRule& rule, const Example& example,
              const ir::Evaluator* evaluator,
              const engine::CompareModels& compare)
      : sandbox_(sandbox),
        example_(example),
        alone_(sandbox, rule, example, evaluator),
        compare_(compare) {
    out_.rule = rule.name;
    out_.file = rule.file;
    out_.title = example.title;
    out_.line = alone_.line();
  }

  // False: the graph before is not valid. Errors: limits of the whole run.
  Result<bool> run(const FuzzOptions& options) {
    auto model = alone_.parse();
    if (!model) return false;
    original_ = std::move(*model);
    if (auto s = look_at_example(); !s) return s.error();
    for (std::size_t k = 0; k < options.mutants; ++k) {
      if (auto s = one(options.seed, k); !s) return s.error();
      if (out_.wrong == kMostWrong) break;
    }
    if (out_.wrong > 0) {
      if (auto s = shrink(); !s) return s.error();
    }
    return true;
  }

  FuzzResult& result() { return out_; }

 private:
  // Whether the example itself can be run. If not, neither need its mutants.
  Status look_at_example() {
    seen_.insert(text::print(*original_, {.weights = true}));
    auto runs = can_run(*original_);
    if (!runs) return runs.error();
    example_runs_ = *runs;
    return {};
  }

  // The k-th mutant; of several tries the first that is one.
  Status one(std::uint64_t seed, std::size_t k) {
    for (std::size_t i = 0; i < kMostTries; ++i) {
      if (auto s = sandbox_.limits().deadline.check(); !s) return s;
      constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;
      const Changes changes =
          mutate::draw_changes((seed * kOdd + k) * kMostTries + i);
      auto outcome = try_changes(changes, true);
      if (!outcome) return outcome.error();
      if (outcome->kind == Outcome::kNone) continue;
      count(k + 1, changes, std::move(*outcome));
      return {};
    }
    return {};
  }

  void count(std::size_t number, const Changes& changes, Outcome outcome) {
    ++out_.mutants;
    if (outcome.kind == Outcome::kQuiet) return;
    ++out_.fired;
    if (outcome.kind == Outcome::kAssumed) ++out_.assumed;
    if (outcome.kind == Outcome::kRight || outcome.kind == Outcome::kAssumed ||
        outcome.kind == Outcome::kDiffers) {
      ++out_.executed;
    }
    if (outcome.kind == Outcome::kUnknown && out_.not_executed.empty()) {
      out_.not_executed = outcome.detail;
    }
    if (!outcome.is_wrong()) return;
    ++out_.wrong;
    if (out_.wrong == 1 || is_smaller(changes, outcome, changes_, smallest_)) {
      out_.number = number;
      changes_ = changes;
      smallest_ = std::move(outcome);
    }
  }

  static bool is_smaller(const Changes& a, const Outcome& of_a,
                         const Changes& b, const Outcome& of_b) {
    if (a.size() != b.size()) return a.size() < b.size();
    return of_a.text.size() < of_b.text.size();
  }

  // Leaves out changes, one at a time, while the mutant stays wrong.
  Status shrink() {
    for (std::size_t i = 0; i < changes_.size() && changes_.size() > 1;) {
      Changes fewer = changes_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      auto outcome = try_changes(fewer, false);
      if (!outcome) return outcome.error();
      if (outcome->kind != smallest_.kind) {
        ++i;
        continue;
      }
      changes_ = std::move(fewer);
      smallest_ = std::move(*outcome);
      i = 0;
    }
    out_.verdict =
        smallest_.kind == Outcome::kFails ? Verdict::kError : Verdict::kUnsound;
    for (const mutate::Change& each : changes_) {
      out_.changes.emplace_back(mutate::name_of(each));
    }
    out_.detail = std::move(smallest_.detail);
    out_.shown_by = std::move(smallest_.shown_by);
    out_.text = left_alone_example(
        fmt::format("mutant {} of {}", out_.number, printable(example_.title)),
        smallest_.text, example_.options, alone_.rule().lint);
    return {};
  }

  Result<Outcome> try_changes(const Changes& changes, bool is_new) {
    auto mutant = mutate::make_mutant(*original_, changes, engine::facts_of);
    if (!mutant) return Outcome();
    if (is_new && !seen_.insert(mutant->text).second) return Outcome();
    auto outcome = outcome_of(*mutant->model);
    if (outcome) outcome->text = std::move(mutant->text);
    return outcome;
  }

  // A difference where the rule assumes something proves nothing, unless it is
  // also there without those rewrites.
  Result<Outcome> outcome_of(ir::Model& before) {
    bool assumes = false;
    auto outcome = outcome_of(before, false, assumes);
    if (!outcome || outcome->kind != Outcome::kDiffers || !assumes) {
      return outcome;
    }
    auto exact = outcome_of(before, true, assumes);
    if (!exact || exact->kind == Outcome::kDiffers) return exact;
    return Outcome{.kind = Outcome::kAssumed};
  }

  Result<Outcome> outcome_of(ir::Model& before, bool exact, bool& assumes) {
    alone_.prepare(before);
    const auto after = before.copy();
    alone_.prepare(*after);
    const auto report = alone_.run(*after, exact);
    if (!report) return failed(before, report.error());
    if (!has_fired(*report)) {
      const bool has_found = !report->rules.at(0).found.empty();  // of a lint
      return has_found ? Outcome{.kind = Outcome::kUnknown,
                                 .detail = "the rule rewrites nothing"}
                       : Outcome{.kind = Outcome::kQuiet};
    }
    if (const auto status = verify::check_model(*after); !status) {
      return failed(before, status.error());
    }
    assumes = !report->assumptions.empty();
    return compared(before, *after, assumes);
  }

  Result<Outcome> compared(const ir::Model& before, const ir::Model& after,
                           bool assumes) {
    if (auto why = alone_.incomparable(); !why.empty()) {
      return Outcome{.kind = Outcome::kUnknown, .detail = std::move(why)};
    }
    if (compare_ == nullptr) return Outcome{.kind = Outcome::kUnknown};
    const Floats floats = floats_of(before.graph);
    engine::Comparing how{
        // Large numbers overflow in 16 bits here and there.
        .assumes = assumes || example_.assumed || floats.is_short(),
        .within = alone_.rule().changes_meaning};
    // The constants of such a mutant, and those of patterns, are often rounded
    // to floats.
    if (!how.within && floats.wide) how.within = {.abs = 1e-6, .rel = 1e-6};
    auto found = compare_(before, after, how);
    if (found && !found->difference.empty() && !how.within) {
      found = compare_coarsely(before, after, how, floats, *std::move(found));
    }
    if (!found) return failed(before, found.error());
    if (!found->difference.empty()) {
      // Other numbers overflow in 16 bits too, in one of the two alone.
      if (floats.is_short() && found->is_overflow) {
        return Outcome{.kind = Outcome::kUnknown,
                       .detail = "it overflows in 16 bits"};
      }
      return Outcome{.kind = Outcome::kDiffers,
                     .detail = std::move(found->difference),
                     .shown_by = std::move(found->shown_by)};
    }
    if (found->unverified.empty()) return Outcome{.kind = Outcome::kRight};
    auto runs = can_run(before);
    if (!runs) return runs.error();
    if (!*runs && example_runs_) return Outcome();
    return Outcome{.kind = Outcome::kUnknown,
                   .detail = std::move(found->unverified)};
  }

  // Examples are chosen so that the place and the order of roundings do not
  // matter; mutants are not. So a small difference is looked at again, with
  // these as the tolerance.
  Result<engine::Finding> compare_coarsely(const ir::Model& before,
                                           const ir::Model& after,
                                           engine::Comparing how,
                                           const Floats& floats,
                                           engine::Finding found) {
    // 8 bits after 16 are rounded twice.
    double most = floats.is_short() && floats.small ? 0.25 : floats.rounding();
    if (!how.assumes) {
      how.assumes = true;
      auto ordinary = compare_(before, after, how);
      if (!ordinary) return ordinary;
      how.assumes = !ordinary->difference.empty();
      if (how.assumes) {
        found = *std::move(ordinary);
      } else {
        most *= kExtreme;
      }
    }
    const double abs = found.verified.max_abs, rel = found.verified.max_rel;
    if (rel > most) return found;
    const double largest = rel > 0 ? abs / rel : 0;
    how.within = {.abs = most * largest, .rel = most};
    return compare_(before, after, how);
  }

  // The fault is the rule's only if the mutant is good, and no limit of the
  // whole run was reached.
  Result<Outcome> failed(const ir::Model& before, const Diagnostic& error) {
    const bool ends_run = error.kind == ErrorKind::kCancelled ||
                          error.remedy == Remedy::kTime ||
                          error.remedy == Remedy::kMemory;
    if (ends_run || sandbox_.limits().deadline.is_over()) return error;
    // Too much memory for tensors is a fault of the mutant.
    if (error.remedy == Remedy::kTensors) return Outcome();
    auto runs = can_run(before);
    if (!runs) return runs.error();
    if (!*runs && example_runs_) return Outcome();
    std::string detail = error.what;
    if (!error.found.empty()) detail += ": " + error.found;
    if (!error.where.empty()) detail += " (" + error.where + ")";
    return Outcome{.kind = Outcome::kFails, .detail = std::move(detail)};
  }

  Result<bool> can_run(const ir::Model& model) {
    if (compare_ == nullptr) return false;
    auto found = compare_(model, model, {.assumes = true, .within = {}});
    if (found) return found->unverified.empty();
    if (found.error().remedy == Remedy::kTime) return found.error();
    return false;
  }

  Sandbox& sandbox_;
  const Example& example_;
  RuleAlone alone_;
  const engine::CompareModels& compare_;
  std::unique_ptr<ir::Model> original_;
  bool example_runs_ = false;
  std::unordered_set<std::string> seen_;  // texts of mutants
  FuzzResult out_;
  // The smallest that is wrong.
  Changes changes_;
  Outcome smallest_;
};

}  // namespace

FuzzRuns fuzz(RuleSet& set, const engine::CompareModels& compare,
              const ir::Evaluator* evaluator, const FuzzOptions& options) {
  FuzzRuns out;
  for (const auto& rule : set.rules()) {
    for (const Example& example : rule->examples) {
      ExampleFuzz run(set.sandbox(), *rule, example, evaluator, compare);
      auto is_valid = run.run(options);
      if (!is_valid) {
        Diagnostic error = std::move(is_valid.error());
        error.found = fmt::format(
            "the mutants of {} examples were run, the next are of rule '{}'",
            out.results.size(), rule->name);
        out.stopped = std::move(error);
        return out;
      }
      if (!*is_valid) continue;
      out.results.push_back(std::move(run.result()));
      out.results.back().place =
          static_cast<std::size_t>(&example - rule->examples.data());
    }
  }
  return out;
}

}  // namespace ruleengine::lua
