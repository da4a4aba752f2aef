#include "core/rewrite/driver.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

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

class Driver {
 public:
  Driver(ir::Model& model, std::span<Rule* const> rules, const Options& options)
      : state_(model, rules, options) {}

  Result<Report> run() {
    const auto called = called_functions(state_.model);
    if (Status s = prepare(); !s) return s.error();
    if (Status s = rounds(); !s) return s.error();
    if (state_.version > 0) {
      remove_uncalled(state_.model, called);
      for (const auto& run : state_.graphs) {
        if (Status s = check_at_end(*run); !s) return s.error();
      }
    }
    return report();
  }

 private:
  Status prepare() {
    auto stages = make_stages(state_.rules);
    if (!stages) return stages.error();
    stages_ = std::move(*stages);
    const auto& limits = state_.options.limits;
    if (Status late = limits.check_time(); !late) return late;
    for (ir::Graph* graph : rewritable_graphs(state_.model)) {
      state_.graphs.push_back(state_.run_of(*graph));
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
    out.match_seconds = state_.match_seconds;
    return out;
  }

  RunState state_;
  std::vector<Stage> stages_;
  std::vector<Place> places_;
};

}  // namespace

Result<Report> run(ir::Model& model, std::span<Rule* const> rules,
                   const Options& options) {
  return Driver(model, rules, options).run();
}

}  // namespace ruleengine::rewrite
