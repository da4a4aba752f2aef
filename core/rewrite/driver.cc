#include "core/rewrite/driver.h"

#include <algorithm>
#include <new>
#include <set>
#include <tuple>
#include <utility>

#include "core/rewrite/edits/declared.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/run/run_state.h"
#include "core/rewrite/run/sweep.h"

namespace ruleengine::rewrite {
namespace {

// The number of rounds over all stages without any graph shrinking is limited
// by this and one more for each node. A repeated state is found much sooner.
constexpr std::uint64_t kMostRounds = 1000;
constexpr int kFreeRounds = 8;  // rounds without a check for repetition

// One stage over one graph, and the version of the run at its last fixed point.
struct Place {
  const Stage* stage = nullptr;
  std::shared_ptr<match::KnownOps> known;  // by rules of the stage
  std::size_t graph = 0;
  std::uint64_t settled = ~std::uint64_t{0};
  Standing standing;
};

// The parts of a model beside its graphs that edits change.
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

  // Restores them, after undoing all edits, or all that added nodes.
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

}  // namespace

class Driver::State {
 public:
  State(ir::Model& model, std::span<Rule* const> rules, DriverOptions options)
      : state_(model, rules, std::move(options)),
        called_(called_functions(model)),
        acts_of_(rules.size(), false) {}

  Status act(const Stages& stages) {
    return guarded([&] { return take_up(stages); });
  }

  Status settle() {
    return guarded([&] { return settle_all(); });
  }

  std::vector<Rejected> rejected(std::uint32_t rule) const {
    std::vector<Rejected> out;
    for (const Standing& standing : standings_) {
      const auto met = standing.of.find(rule);
      if (met == standing.of.end()) continue;
      out.insert(out.end(), met->second.rejected.begin(),
                 met->second.rejected.end());
    }
    return out;
  }

  bool has_rewritten() const {
    for (std::size_t i = 0; i < state_.rules.size(); ++i) {
      const bool may_go = recorded_ && is_lent(state_.rules[i]->phase());
      if (state_.counts.rewrites[i] > 0 && !may_go) return true;
    }
    return false;
  }

  DriverReport report() {
    DriverReport out;
    for (std::uint32_t i = 0; i < state_.rules.size(); ++i) {
      if (acts_of_[i]) out.rules.push_back(row(i));
    }
    for (Standing& standing : standings_) {
      for (Warning& w : standing.warnings) warn(out.warnings, std::move(w));
    }
    for (auto& [edit, w] : state_.counts.allowed) {
      warn(out.allowed, std::move(w));
    }
    note_graphs();
    for (Warning& w : of_graphs_) warn(out.warnings, std::move(w));
    for (auto& [edit, assumed] : state_.counts.assumed) {
      out.assumptions.push_back(std::move(assumed));
    }
    for (auto& [edit, site] : state_.counts.sites) {
      out.sites.push_back(std::move(site));
    }
    for (const RuleReport& each : out.rules) {
      out.rewrite_seconds += each.seconds;
    }
    out.match_seconds = state_.match_seconds;
    out.edits = state_.counts.all;
    out.last_rule = state_.counts.last_rule;
    out.last_node = state_.counts.last_node;
    return out;
  }

 private:
  template <class Step>
  Status guarded(const Step& step) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      return state_.out_of_memory();
    }
  }

  Status take_up(const Stages& stages) {
    if (Status s = prepare(); !s) return s;
    if (lends(stages) && !recorded_) record();
    acts_.push_back(&stages);
    return perform(stages);
  }

  Status prepare() {
    if (!state_.graphs.empty()) return {};
    if (Status s = state_.check(); !s) return s;
    for (ir::Graph* graph : rewritable_graphs(state_.model)) {
      state_.graphs.push_back(state_.run_of(*graph));
    }
    return {};
  }

  // Whether the act has edits that are lent. Canonical rules alone are what the
  // user asked for.
  bool lends(const Stages& stages) const {
    bool lent = false, other = false;
    for (const Stage& stage : stages) {
      const Rule& any = *state_.rules[stage.all[0]];
      lent = lent || is_lent(any.phase());
      other = other || any.phase() != Phase::kCanonical;
    }
    return !state_.options.keep_all && lent && other;
  }

  // Starts to record edits, so that they can be undone.
  void record() {
    recorded_.emplace(
        Recorded{.before = Before(state_.model),
                 .counts = state_.counts,
                 .standings = standings_.size(),
                 .version = state_.version,
                 .print = state_.options.may_return ? print(true) : 0});
    acts_.clear();
    for (const auto& run : state_.graphs) {
      run->workspace.set_history(&run->history);
    }
  }

  Status perform(const Stages& stages) {
    const bool lent = lends(stages);
    std::vector<Place> places;
    for (const Stage& stage : stages) {
      for (const std::uint32_t rule : stage.all) {
        acts_of_[rule] = true;
        for (Standing& standing : standings_) standing.of.erase(rule);
      }
      std::shared_ptr<match::KnownOps> known;
      if (stage.program) {
        known = std::make_shared<match::KnownOps>(*stage.program);
      }
      for (std::size_t g = 0; g < state_.graphs.size(); ++g) {
        places.push_back({&stage, known, g, ~std::uint64_t{0}, {}});
      }
    }
    if (Status s = rounds(places, lent); !s) return s;
    for (Place& place : places) {
      standings_.push_back(std::move(place.standing));
    }
    return {};
  }

  Status rounds(std::vector<Place>& places, bool lent) {
    LoopDetector loop_detector;
    Patience patience;
    const std::uint64_t most = kMostRounds + live_nodes();
    for (int round = 0;; ++round) {
      bool changed = false;
      for (Place& place : places) {
        if (place.settled == state_.version) continue;
        const std::uint64_t version = state_.version;
        if (Status s = sweep(place, lent); !s) return s;
        place.settled = state_.version;
        changed |= state_.version != version;
      }
      if (!changed) return {};
      if (round < kFreeRounds) continue;
      if (loop_detector.sees(print(), state_.counts.rewrites)) {
        return state_.endless(loop_detector.then(), true);
      }
      if (patience.is_over(live_nodes(), most)) {
        return state_.endless(loop_detector.then(), false);
      }
    }
  }

  Status sweep(Place& place, bool lent) {
    GraphRun& run = *state_.graphs[place.graph];
    const Rule& any = *state_.rules[place.stage->all[0]];
    run.history.set_kind(lent && is_lent(any.phase()));
    return Sweep(state_, run, *place.stage, place.known).run(place.standing);
  }

  // Ends the work on the graphs; later acts start with fresh state.
  Status settle_all() {
    if (state_.version > settled_) {
      if (recorded_) {
        const auto taken = take_back();
        if (!taken) return taken.error();
        if (!*taken) {
          if (Status s = begin_again(); !s) return s;
        } else if (state_.options.may_return &&
                   print(true) == recorded_->print) {
          forget();
        }
      }
      if (Status s = check_graphs(); !s) return s;
    }
    note_graphs();
    state_.graphs.clear();
    recorded_.reset();
    settled_ = state_.version;
    return {};
  }

  Status check_graphs() {
    remove_uncalled(state_.model, called_);
    const bool all_edited = !recorded_ || recorded_->version > settled_;
    for (const auto& run : state_.graphs) {
      if (all_edited || run->history.has_edits()) {
        forget_stale(run->graph, *run->facts);
      }
      if (Status s = check_at_end(*run); !s) return s;
    }
    return {};
  }

  // Runs all acts again from the original graphs and keeps every edit. Needed
  // rarely: if needed edits cannot be separated from the others.
  Status begin_again() {
    for (const auto& run : state_.graphs) run->history.park();
    recorded_->before.restore(state_.model, false, false);
    state_.counts = std::move(recorded_->counts);
    standings_.resize(recorded_->standings);
    recorded_.reset();
    state_.graphs.clear();
    state_.options.keep_all = true;
    if (Status s = prepare(); !s) return s;
    for (const Stages* stages : acts_) {
      if (Status s = perform(*stages); !s) return s;
    }
    return {};
  }

  // Undoes all edits, which led back to the graphs before them.
  void forget() {
    for (const auto& run : state_.graphs) run->history.park();
    recorded_->before.restore(state_.model, false, false);
    for (std::uint32_t i = 0; i < state_.rules.size(); ++i) {
      if (state_.counts.rewrites[i] == recorded_->counts.rewrites[i]) continue;
      taken_back_.push_back({i, {}, "the target writes what stood there"});
    }
    state_.counts = recorded_->counts;
  }

  // False if a needed edit could not be repeated.
  Result<bool> take_back() {
    bool edited = false, added = false;
    std::set<std::uint64_t> assuming, unneeded;
    Counts& counts = state_.counts;
    for (const auto& each : counts.assumed) assuming.insert(each.edit);
    for (const auto& run : state_.graphs) {
      auto settled =
          run->history.settle(state_.options.limits.deadline, assuming);
      if (!settled) return settled.error();
      if (!*settled) return false;
      for (auto& [rule, number, node] : **settled) {
        --counts.rewrites[rule];
        unneeded.insert(number);
        const bool shrinks = state_.rules[rule]->phase() == Phase::kSimplify;
        taken_back_.push_back({rule, std::move(node),
                               shrinks ? "the model is no smaller with it"
                                       : "no other rule needed it"});
      }
      edited = edited || run->history.has_edits();
      added = added || run->history.has_added();
    }
    const auto is_unneeded = [&](const auto& each) {
      return unneeded.contains(each.edit);
    };
    std::erase_if(counts.assumed, is_unneeded);
    std::erase_if(counts.allowed, is_unneeded);
    std::erase_if(counts.sites, is_unneeded);
    recorded_->before.restore(state_.model, edited, added);
    return true;
  }

  std::size_t live_nodes() const {
    std::size_t all = 0;
    for (const auto& run : state_.graphs) all += run->graph.live_node_count();
    return all;
  }
  Fingerprint print(bool contents = false) const {
    Fingerprint all = 0;
    for (const auto& run : state_.graphs) {
      all = mixed(all, print_of_graph(run->graph, contents));
    }
    return all;
  }

  RuleReport row(std::uint32_t index) {
    const Rule& rule = *state_.rules[index];
    RuleReport out;
    out.rule = index;
    out.name = rule.name();
    out.file = rule.file();
    out.phase = rule.phase();
    out.took_part = state_.took_part[index];
    out.lint = rule.is_lint();
    out.changes_meaning = rule.changes_meaning();
    out.rewrites = state_.counts.rewrites[index];
    out.matches = state_.counts.matches[index];
    out.seconds = state_.seconds_of[index];
    out.rejected = rejected(index);
    for (const Standing& standing : standings_) {
      const auto met = standing.of.find(index);
      if (met == standing.of.end()) continue;
      out.matches += met->second.matches;
      out.found.insert(out.found.end(), met->second.found.begin(),
                       met->second.found.end());
    }
    for (TakenBack& each : taken_back_) {
      if (each.rule != index) continue;
      out.rejected.push_back(
          {.node = std::move(each.node), .reason = std::move(each.reason)});
    }
    return out;
  }

  // Collects warnings about the graphs, before their state is dropped.
  void note_graphs() {
    for (const auto& run : state_.graphs) {
      if (run->workspace.bodies_missed) {
        of_graphs_.push_back(
            {"", "",
             "nodes that fused ops would replace stay unchanged: " +
                 run->workspace.no_bodies()});
      }
      for (std::string& text : run->facts->take_warnings()) {
        of_graphs_.push_back({"", "", std::move(text)});
      }
    }
  }

  void warn(std::vector<Warning>& to, Warning&& w) {
    if (said_.emplace(w.rule, w.node, w.message).second) {
      to.push_back(std::move(w));
    }
  }

  // What begin_again() needs.
  struct Recorded {
    Before before;
    Counts counts;
    std::size_t standings = 0;
    std::uint64_t version = 0;
    Fingerprint print = 0;  // if the rules may return
  };
  struct TakenBack {
    std::uint32_t rule = 0;
    std::string node, reason;
  };

  RunState state_;
  std::vector<ir::Function*> called_;
  std::vector<bool> acts_of_;  // by rule: whether it was in an act
  std::optional<Recorded> recorded_;
  std::vector<const Stages*> acts_;  // since `recorded_` was set
  std::vector<Standing> standings_;  // from all acts
  std::vector<TakenBack> taken_back_;
  std::vector<Warning> of_graphs_;
  std::set<std::tuple<std::string, std::string, std::string>> said_;
  std::uint64_t settled_ = 0;  // the version at the last settle()
};

Driver::Driver(ir::Model& model, std::span<Rule* const> rules,
               DriverOptions options)
    : state_(std::make_unique<State>(model, rules, std::move(options))) {}
Driver::~Driver() = default;

Status Driver::act(const Stages& stages) { return state_->act(stages); }

std::vector<Rejected> Driver::rejected(std::uint32_t rule) const {
  return state_->rejected(rule);
}

bool Driver::has_rewritten() const { return state_->has_rewritten(); }

Status Driver::settle() { return state_->settle(); }

DriverReport Driver::report() { return state_->report(); }

Result<DriverReport> run(ir::Model& model, std::span<Rule* const> rules,
                         const DriverOptions& options) {
  const auto stages = make_stages(rules);
  if (!stages) return stages.error();
  Driver driver(model, rules, options);
  if (Status s = driver.act(*stages); !s) return s.error();
  if (Status s = driver.settle(); !s) return s.error();
  return driver.report();
}

}  // namespace ruleengine::rewrite
