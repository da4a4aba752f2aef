// The passes of a stage: each runs once in every sweep.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/ir/order.h"
#include "core/rewrite/run/sweep.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;

// The number of sweeps in which a `pass` may change something without the graph
// shrinking is limited by this and some for each node. A repeated state is
// found much sooner.
constexpr std::uint64_t kMostPasses = 10'000;
constexpr int kFreePasses = 8;  // sweeps without a check for repetition
constexpr std::uint64_t kPassesPerNode = 4;

}  // namespace

// The transactions of one pass.
class Sweep::Passing final : public Transactions {
 public:
  Passing(Sweep& sweep, std::uint32_t rule) : sweep_(sweep), rule_(rule) {
    open();
  }

  Edit& edit() override { return *edit_; }

  Status end(NodeId node, std::optional<Rejection> rejection) override {
    Rejected place = place_of(sweep_.graph_, node);
    std::optional<Site> site = sweep_.site_of(rule_, place);
    if (!rejection) rejection = sweep_.state_.too_much(edit_->assumptions());
    if (!rejection && sweep_.state_.is_full()) {
      rejection = Rejection{"enough rewrites took place", ""};
    }
    if (!rejection && site && !edit_->empty()) {
      rejection = sweep_.state_.forbidden(rule_, *site);
    }
    if (!rejection) {
      edit_->remove_dead({});
      rejection = sweep_.state_.end(*edit_, *sweep_.state_.rules[rule_], true);
    }
    Status status;
    if (rejection) {
      ++sweep_.standing_->of[rule_].matches;
      sweep_.standing_->reject(rule_, std::move(place), std::move(*rejection));
    } else if (edit_->changed()) {
      changed_ = true;
      status = sweep_.note(rule_, *edit_, place, std::move(site), {}, {});
      if (status) {
        status = sweep_.state_.assume(rule_, place.node, edit_->assumptions());
      }
    }
    open();
    return status ? sweep_.state_.check() : status;
  }

  bool changed() const { return changed_; }

 private:
  void open() {
    const Rule& rule = *sweep_.state_.rules[rule_];
    edit_.reset();  // undoes what was not kept
    edit_.emplace(sweep_.graph_, *sweep_.run_.facts,
                  Provenance{.rule = rule.qualified(), .meta = rule.meta()},
                  &sweep_.run_.workspace);
  }

  Sweep& sweep_;
  std::uint32_t rule_;
  std::optional<Edit> edit_;
  bool changed_ = false;
};

Result<bool> Sweep::passes() {
  const auto has_pass = [&](auto rule) {
    return state_.rules[rule]->has_pass();
  };
  if (std::ranges::none_of(passing_, has_pass)) return false;
  if (const auto order = ir::number_nodes(graph_); !order) return order.error();
  bool changed = false;
  for (std::uint32_t rule : passing_) {
    if (!has_pass(rule)) continue;
    const Clock::time_point start = Clock::now();
    state_.work_at(run_, rule, {});
    Passing passing(*this, rule);
    if (Status s = state_.rules[rule]->pass(passing); !s) return s.error();
    changed |= passing.changed();
    state_.seconds_of[rule] += seconds_since(start);
    if (Status s = state_.check(); !s) return s.error();
  }
  return changed;
}

// Lineage follows rewrites at a node. A pass may change nodes anywhere, so the
// whole graph is compared.
Status Sweep::check_passes() {
  if (++passes_ <= kFreePasses) return {};
  if (circling_.sees(print_of_graph(graph_), state_.counts.rewrites)) {
    return state_.endless(circling_.then(), true);
  }
  const std::uint64_t most = kMostPasses + kPassesPerNode * nodes_at_first_;
  if (!patience_.is_over(graph_.live_node_count(), most)) return {};
  return state_.endless(circling_.then(), false);
}

}  // namespace ruleengine::rewrite
