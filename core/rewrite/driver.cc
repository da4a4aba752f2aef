#include "core/rewrite/driver.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <new>
#include <set>
#include <tuple>

#include "core/rewrite/declared.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/run_state.h"
#include "core/rewrite/sweep.h"

namespace ruleengine::rewrite {
namespace {

// Rounds over all stages while no graph shrinks: so many, and one for each
// node. What comes again is found much sooner.
constexpr std::uint64_t kMostRounds = 1000;
constexpr int kFreeRounds = 8;  // nobody looks at the graphs for so few

// One stage over one graph, and the version of the run that it last settled.
struct Place {
  std::size_t stage = 0;
  std::size_t graph = 0;
  std::uint64_t settled = ~std::uint64_t{0};
  Standing standing;
};

// What edits change of a model beside its graphs.
class Before {
 public:
  explicit Before(const ir::Model& model)
      : changed_(model.changed),
        ir_version_(model.ir_version),
        imports_(model.opset_imports.size()) {
    for (const auto& f : model.functions) {
      of_functions_.push_back(f->opset_imports.size());
    }
  }

  // Of a model of which some edits are left, of which some added nodes.
  void restore(ir::Model& model, bool edited, bool added) const {
    if (!added) model.ir_version = ir_version_;
    if (edited) return;
    model.changed = changed_;
    model.opset_imports.shrink(imports_);
    for (std::size_t i = 0; i < of_functions_.size(); ++i) {
      model.functions[i]->opset_imports.shrink(of_functions_[i]);
    }
  }

 private:
  bool changed_;
  std::int64_t ir_version_;
  std::size_t imports_;
  std::vector<std::size_t> of_functions_;
};

class Driver {
 public:
  Driver(ir::Model& model, std::span<Rule* const> rules, const Options& options)
      : state_(model, rules, options), before_(model) {}

  Result<Report> run() {
    try {
      return to_fixed_point();
    } catch (const std::bad_alloc&) {
      return state_.out_of_memory();
    }
  }

 private:
  Result<Report> to_fixed_point() {
    const auto called = called_functions(state_.model);
    if (Status s = prepare(); !s) return s.error();
    if (Status s = rounds(); !s) return s.error();
    if (state_.version > 0) {
      const auto taken = take_back();
      if (!taken) return taken.error();
      if (!*taken) return begin_again();
      remove_uncalled(state_.model, called);
      for (const auto& run : state_.graphs) {
        const bool is_edited =
            !canonical_forms_serve() || run->history.has_edits();
        if (is_edited) forget_stale(run->graph, *run->facts);
        if (Status s = check_at_end(*run); !s) return s.error();
      }
    }
    return report();
  }

  Status prepare() {
    auto stages = make_stages(state_.rules);
    if (!stages) return stages.error();
    stages_ = std::move(*stages);
    if (Status s = state_.check(); !s) return s;
    for (ir::Graph* graph : rewritable_graphs(state_.model)) {
      state_.graphs.push_back(state_.run_of(*graph));
      GraphRun& run = *state_.graphs.back();
      if (canonical_forms_serve()) run.workspace.set_history(&run.history);
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (std::size_t g = 0; g < state_.graphs.size(); ++g) {
        places_.push_back({.stage = s, .graph = g, .standing = {}});
      }
    }
    return {};
  }

  Status rounds() {
    Circling circling;
    Patience patience;
    const std::uint64_t most = kMostRounds + live_nodes();
    for (int round = 0;; ++round) {
      bool changed = false;
      for (Place& place : places_) {
        if (place.settled == state_.version) continue;
        const std::uint64_t version = state_.version;
        Sweep sweep(state_, *state_.graphs[place.graph], stages_[place.stage]);
        if (Status s = sweep.run(place.standing); !s) return s;
        place.settled = state_.version;
        changed |= state_.version != version;
      }
      if (!changed) return {};
      if (round < kFreeRounds) continue;
      if (circling.sees(print(), state_.rewrites_of)) {
        return state_.endless(circling.then(), true);
      }
      if (patience.is_over(live_nodes(), most)) {
        return state_.endless(circling.then(), false);
      }
    }
  }

  // Beside others; alone they are what was asked for.
  bool canonical_forms_serve() const {
    const auto is_canonical = [](Phase p) { return p == Phase::kCanonical; };
    return !state_.options.keep_all && has_phase(is_canonical) &&
           has_phase(std::not_fn(is_canonical));
  }
  template <class Condition>
  bool has_phase(Condition holds) const {
    return std::ranges::any_of(state_.rules, holds, &Rule::phase);
  }

  // Once more, from the graphs as they were, and everything is kept: seldom,
  // where what is needed cannot be told from what is not.
  Result<Report> begin_again() {
    for (const auto& run : state_.graphs) run->history.park();
    before_.restore(state_.model, false, false);
    Options keeping = state_.options;
    keeping.keep_all = true;
    return Driver(state_.model, state_.rules, keeping).run();
  }

  // False where some edit could not be done again.
  Result<bool> take_back() {
    if (!canonical_forms_serve()) return true;
    // What a target has no word for takes as many nodes as it takes.
    const bool may_grow =
        has_phase([](Phase p) { return p == Phase::kTarget; });
    bool edited = false, added = false;
    std::set<std::uint64_t> assuming, unneeded;
    for (const auto& each : state_.assumed) assuming.insert(each.edit);
    for (const auto& run : state_.graphs) {
      auto settled =
          run->history.settle(may_grow, state_.options.limits.deadline,
                              assuming);
      if (!settled) return settled.error();
      if (!*settled) return false;
      for (auto& [rule, number, node] : **settled) {
        --state_.rewrites_of[rule];
        unneeded.insert(number);
        taken_back_.emplace_back(
            rule, Rejected{std::move(node), "no other rule needed it", ""});
      }
      edited = edited || run->history.has_edits();
      added = added || run->history.has_added();
    }
    const auto is_unneeded = [&](const auto& each) {
      return unneeded.contains(each.edit);
    };
    std::erase_if(state_.assumed, is_unneeded);
    std::erase_if(state_.allowed, is_unneeded);
    before_.restore(state_.model, edited, added);
    return true;
  }

  std::size_t live_nodes() const {
    std::size_t all = 0;
    for (const auto& run : state_.graphs) all += run->graph.live_node_count();
    return all;
  }
  Fingerprint print() const {
    Fingerprint all = 0;
    for (const auto& run : state_.graphs) {
      all = mixed(all, print_of_graph(run->graph));
    }
    return all;
  }

  Report report() {
    Report out;
    std::set<std::tuple<std::string, std::string, std::string>> said;
    for (std::size_t i = 0; i < state_.rules.size(); ++i) {
      const Rule& rule = *state_.rules[i];
      RuleReport& r = out.rules.emplace_back();
      r.name = rule.name();
      r.file = rule.file();
      r.phase = rule.phase();
      r.took_part = state_.took_part[i];
      r.rewrites = state_.rewrites_of[i];
      r.matches = state_.matches_of[i];
      r.seconds = state_.seconds_of[i];
      out.rewrite_seconds += r.seconds;
    }
    for (Place& place : places_) {
      for (auto& [rule, met] : place.standing.of) {
        RuleReport& r = out.rules[rule];
        r.matches += met.matches;
        std::ranges::move(met.rejected, std::back_inserter(r.rejected));
      }
      for (Warning& w : place.standing.warnings) {
        if (!said.emplace(w.rule, w.node, w.message).second) continue;
        out.warnings.push_back(std::move(w));
      }
    }
    for (auto& [rule, rejected] : taken_back_) {
      out.rules[rule].rejected.push_back(std::move(rejected));
    }
    for (auto& [edit, w] : state_.allowed) {
      if (!said.emplace(w.rule, w.node, w.message).second) continue;
      out.allowed.push_back(std::move(w));
    }
    for (const auto& run : state_.graphs) {
      if (run->workspace.bodies_missed) {
        std::string text = "what fused ops would replace stays as it is: " +
                           run->workspace.no_bodies();
        if (said.emplace("", "", text).second) {
          out.warnings.push_back({"", "", std::move(text)});
        }
      }
      for (std::string& text : run->facts->take_warnings()) {
        if (!said.emplace("", "", text).second) continue;
        out.warnings.push_back({"", "", std::move(text)});
      }
    }
    for (auto& [edit, assumed] : state_.assumed) {
      out.assumptions.push_back(std::move(assumed));
    }
    out.match_seconds = state_.match_seconds;
    return out;
  }

  RunState state_;
  Before before_;
  std::vector<Stage> stages_;
  std::vector<std::pair<std::uint32_t, Rejected>> taken_back_;
  std::vector<Place> places_;
};

}  // namespace

Result<Report> run(ir::Model& model, std::span<Rule* const> rules,
                   const Options& options) {
  return Driver(model, rules, options).run();
}

}  // namespace ruleengine::rewrite
