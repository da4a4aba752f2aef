#include "core/rewrite/run/sweep.h"

#include <algorithm>

#include "core/ir/order.h"
#include "core/ir/shapes.h"
#include "core/rewrite/run/attempt.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

// After an edit, at most this many nodes that depend on it are matched again at
// once; the next sweep matches the rest.
constexpr std::size_t kMaxBelow = 256;
// Users of a value with more readers also wait for the next sweep.
constexpr std::uint32_t kMaxFanOut = 16;
}  // namespace

Sweep::Sweep(RunState& state, GraphRun& run, const Stage& stage,
             const std::shared_ptr<match::KnownOps>& known)
    : state_(state),
      run_(run),
      graph_(run.graph),
      stage_(stage),
      worklist_(run.graph),
      nodes_at_first_(graph_.live_node_count()) {
  if (!stage_.program) return;
  machine_ = std::make_unique<match::Machine>(*stage_.program, graph_,
                                              *run_.facts, known);
}

Status Sweep::run(Standing& standing) {
  standing_ = &standing;
  const auto any = enable();
  if (!any) return any.error();
  if (!*any) return {};
  for (;;) {
    *standing_ = {};
    allowed_.clear();
    const auto passed = passes();
    if (!passed) return passed.error();
    const auto swept = once();
    if (!swept) return swept.error();
    if (!*passed && !*swept) return {};
    if (!*passed) continue;
    if (Status s = check_passes(); !s) return s;
  }
}

Result<bool> Sweep::enable() {
  passing_.clear();
  for (std::uint32_t rule : stage_.all) {
    const auto enabled = state_.rules[rule]->enabled(graph_, *run_.facts);
    if (!enabled) return enabled.error();
    if (!*enabled) continue;
    passing_.push_back(rule);  // ascending
    state_.took_part[rule] = true;
  }
  for (std::uint32_t rule : stage_.matching) {
    const bool on = std::ranges::binary_search(passing_, rule);
    const bool groups = state_.rules[rule]->groups();
    single_.push_back(on && !groups);
    grouped_.push_back(on && groups);
    any_single_ |= single_.back();
    any_grouped_ |= grouped_.back();
  }
  return !passing_.empty();
}

Result<bool> Sweep::once() {
  const std::uint64_t before = state_.version;
  if (!any_single_ && !any_grouped_) return false;
  auto order = ir::number_nodes(graph_);
  if (!order) return order.error();
  if (any_single_) {
    worklist_.start(std::move(*order));
    while (const NodeId root = worklist_.pop()) {
      if (Status s = look(root); !s) return s.error();
    }
  }
  if (any_grouped_) {
    if (Status s = groups(); !s) return s.error();
  }
  return state_.version != before;
}

Status Sweep::match_at(NodeId root, const match::RuleMask& mask) {
  found_.clear();
  const Clock::time_point start = Clock::now();
  machine_->run(root, mask, found_);
  state_.match_seconds += seconds_since(start);
  if (const auto cut = machine_->exhausted()) {
    return state_.exhausted(run_, stage_.matching[cut->rule], cut->root);
  }
  return {};
}

Status Sweep::look(NodeId root) {
  if (Status s = state_.tick(worklist_.left()); !s) return s;
  if (state_.is_full()) return {};
  if (!machine_->may_match(root)) return {};
  if (Status s = match_at(root, single_); !s) return s;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const match::Match match = std::move(found_[i]);
    const std::uint32_t rule = rule_of(match);
    state_.work_at(run_, rule, root);
    const Clock::time_point start = Clock::now();
    auto candidate = filter(match);
    if (!candidate) return candidate.error();
    Result<bool> changed = false;
    if (*candidate && state_.rules[rule]->is_lint()) {
      note_found(rule, root);
    } else if (*candidate) {
      Candidate* const one = candidate->get();
      const match::Match* const its = &match;
      changed = apply(rule, {&one, 1}, {&its, 1});
      if (!changed) return changed.error();
    }
    state_.seconds_of[rule] += seconds_since(start);
    if (!*changed) continue;
    // Other matches at this root refer to the graph before the edit.
    if (!graph_.node(root).removed) worklist_.push(root);
    return {};
  }
  return {};
}

// nullptr if the rule rejected the match.
Result<std::unique_ptr<Candidate>> Sweep::filter(const match::Match& match) {
  const std::uint32_t rule = rule_of(match);
  std::vector<Warning> warnings;
  auto filtered = pass(state_, run_, rule, match, warnings);
  if (!filtered) return filtered.error();
  for (Warning& w : warnings) {
    auto& to = w.allowed ? allowed_[{rule, match.root}] : standing_->warnings;
    to.push_back(std::move(w));
  }
  auto* rejection = std::get_if<Rejection>(&*filtered);
  // A match of a rule with groups counts when its group is known.
  if (rejection != nullptr || !state_.rules[rule]->groups()) {
    ++standing_->of[rule].matches;
  }
  if (rejection == nullptr) {
    return std::get<std::unique_ptr<Candidate>>(std::move(*filtered));
  }
  standing_->reject(rule, place_of(graph_, match.root), std::move(*rejection));
  return std::unique_ptr<Candidate>();
}

// A node may be matched several times after edits; it is listed once.
void Sweep::note_found(std::uint32_t rule, NodeId root) {
  std::string label = node_label(graph_, root);
  if (!standing_->seen.emplace(rule, label, "", "").second) return;
  standing_->of[rule].found.push_back(std::move(label));
}

Result<bool> Sweep::apply(std::uint32_t rule, Candidates candidates,
                          Matches matches) {
  Rejected place = place_of(graph_, matches[0]->root);
  std::optional<Site> site = site_of(rule, place);
  if (site) {
    if (auto forbidden = state_.forbidden(rule, *site)) {
      standing_->reject(rule, std::move(place), *std::move(forbidden));
      return false;
    }
  }
  std::vector<std::string> labels;  // of those with assumptions
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (candidates[i]->assumptions().empty()) continue;
    labels.resize(i + 1);
    labels[i] = node_label(graph_, matches[i]->root);
  }
  Attempt attempt(state_, run_, rule, candidates, matches);
  if (Status s = attempt.run(Attempt::Ending::kKeep); !s) return s.error();
  if (!attempt.parts().empty()) {
    return apply_parts(rule, candidates, matches, attempt.parts());
  }
  if (attempt.rejection()) {
    standing_->reject(rule, std::move(place), std::move(*attempt.rejection()));
    return false;
  }
  const Edit& edit = attempt.edit();
  if (!edit.changed()) return false;
  Status status =
      note(rule, edit, place, std::move(site), matches, attempt.consumed());
  for (const match::Match* m : matches) {
    auto said = allowed_.extract({rule, m->root});
    if (said.empty()) continue;
    for (Warning& w : said.mapped()) {
      state_.counts.allowed.push_back({state_.version, std::move(w)});
    }
  }
  for (std::size_t i = 0; status && i < labels.size(); ++i) {
    status = state_.assume(rule, labels[i], candidates[i]->assumptions());
  }
  if (status) status = state_.assume(rule, place.node, edit.assumptions());
  if (!status) return status.error();
  return true;
}

// Values keep their names in all edits, which new nodes do not.
std::optional<Site> Sweep::site_of(std::uint32_t rule,
                                   const Rejected& place) const {
  if (!state_.options.permits) return std::nullopt;
  Site site{
      .rule = state_.rules[rule]->qualified(), .value = place.node, .kind = {}};
  if (!place.at) return site;
  site.kind = graph_.op(place.at).text();
  for (const ValueId v : graph_.outputs(place.at)) {
    if (!v) continue;
    site.value = graph_.name(v);
    const ir::Type* type = run_.facts->type(v);
    if (type != nullptr)
      site.kind += " " + ir::type_text(graph_.model().dims, *type);
    break;
  }
  return site;
}

Status Sweep::note(std::uint32_t rule, const Edit& edit, const Rejected& place,
                   std::optional<Site> site, Matches matches,
                   std::span<const NodeId> consumed) {
  state_.counts.last_rule = rule;
  state_.counts.last_node = place.node;
  // A pass has no matches.
  const NodeId root = matches.empty() ? NodeId() : place.at;
  const std::size_t used = std::max<std::size_t>(1, matches.size());
  if (Status s = state_.count(rule, used); !s) return s;
  if (run_.workspace.history() != nullptr) {
    run_.history.sign(rule, root, state_.version);
  }
  const auto loop = run_.lineage.note(
      {rule, root, consumed, edit.added(), edit.removed(), edit.touched()});
  if (loop) return state_.loop(run_, *loop);
  touch(edit);
  if (Status s = check_after_edit(run_); !s) return s;
  return state_.note_site(std::move(site));
}

// Matches again the nodes that the edit touched, and the roots of matches that
// can reach those.
void Sweep::touch(const Edit& edit) {
  touched_at_.resize(graph_.node_count(), 0);
  for (NodeId n : edit.touched()) touched_at_[n.index()] = state_.version;
  for (NodeId n : edit.removed()) touched_at_[n.index()] = state_.version;
  if (!any_single_) return;
  SmallVector<NodeId, 32> list;
  run_.workspace.clear_marks();
  const auto add = [&](NodeId n) {
    if (run_.workspace.mark(n)) list.push_back(n);
  };
  for (NodeId n : edit.touched()) add(n);
  const std::size_t most = list.size() + kMaxBelow;
  const std::uint32_t reach = stage_.program->reach();
  std::size_t level_end = list.size();
  std::uint32_t depth = 1;
  for (std::size_t i = 0; i < list.size() && list.size() < most; ++i) {
    if (i == level_end) {
      level_end = list.size();
      ++depth;
    }
    if (reach != 0 && depth >= reach) break;
    for (ValueId v : graph_.outputs(list[i])) {
      if (!v || graph_.value(v).use_count > kMaxFanOut) continue;
      for (ir::OperandId u = graph_.first_use(v); u; u = graph_.next_use(u)) {
        add(graph_.operand(u).user);
      }
    }
  }
  for (NodeId n : list) {
    if (machine_->may_match(n)) worklist_.push(n);
  }
}

}  // namespace ruleengine::rewrite
