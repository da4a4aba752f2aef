#include "core/rewrite/driver.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

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

std::vector<bool> ops_in(const ir::Model& model) {
  std::vector<bool> used(model.ops.size(), false);
  const auto add = [&](const ir::Graph& graph) {
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const ir::Node& n = graph.node(ir::NodeId(i));
      if (!n.removed) used[n.op.index()] = true;
    }
  };
  add(model.graph);
  for (const auto& f : model.functions) {
    if (!f->removed) add(f->body);
  }
  return used;
}

std::vector<ir::Function*> called_functions(const ir::Model& model) {
  std::vector<ir::Function*> out;
  if (model.functions.empty()) return out;
  const std::vector<bool> used = ops_in(model);
  for (const auto& f : model.functions) {
    const ir::OpId op = model.ops.find(f->domain, f->name, f->overload);
    if (!f->removed && op && used[op.index()]) out.push_back(f.get());
  }
  return out;
}

// Functions that lost their last call in this run, and those that only such
// called.
void remove_functions(const ir::Model& model,
                      const std::vector<ir::Function*>& were_called) {
  for (bool again = true; again;) {
    again = false;
    const std::vector<ir::Function*> now = called_functions(model);
    for (ir::Function* f : were_called) {
      if (f->removed || std::ranges::find(now, f) != now.end()) continue;
      f->removed = true;
      again = true;
    }
  }
}

class Driver {
 public:
  Driver(ir::Model& model, std::span<Rule* const> rules, const Options& options)
      : state_(model, rules, options) {}

  Result<Report> run() {
    const auto called = called_functions(state_.model);
    if (Status s = prepare(); !s) return s.error();
    if (Status s = rounds(); !s) return s.error();
    if (state_.version > 0) {
      remove_functions(state_.model, called);
      for (const auto& run : state_.graphs) {
        if (Status s = check_at_end(*run); !s) return s.error();
      }
    }
    return report();
  }

 private:
  void add_graph(ir::Graph& graph) {
    state_.graphs.push_back(
        std::make_unique<GraphRun>(graph, state_.options.facts(graph)));
  }

  Status prepare() {
    auto stages = make_stages(state_.rules);
    if (!stages) return stages.error();
    stages_ = std::move(*stages);
    const auto& limits = state_.options.limits;
    if (Status late = limits.check_time(); !late) return late;
    add_graph(state_.model.graph);
    const auto& skip = state_.options.skip_function;
    for (const auto& f : state_.model.functions) {
      if (!f->removed && !(skip && skip(*f))) add_graph(f->body);
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (std::size_t g = 0; g < state_.graphs.size(); ++g) {
        places_.push_back(
            {s, g, ~std::uint64_t{0}, Standing(state_.rules.size())});
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
      r.rewrites = state_.rewrites_of[i];
      r.matches = state_.matches_of[i];
      r.seconds = state_.seconds_of[i];
      out.rewrite_seconds += r.seconds;
    }
    for (Place& place : places_) {
      for (std::size_t i = 0; i < state_.rules.size(); ++i) {
        out.rules[i].matches += place.standing.matches[i];
        auto& rejected = place.standing.rejected[i];
        std::ranges::move(rejected, std::back_inserter(out.rules[i].rejected));
      }
      for (Warning& w : place.standing.warnings) {
        if (!said.emplace(w.rule, w.node, w.message).second) continue;
        out.warnings.push_back(std::move(w));
      }
    }
    for (const auto& run : state_.graphs) {
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
