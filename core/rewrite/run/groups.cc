// Rules with `together`: matches with equal keys are rewritten as one.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/ir/order.h"
#include "core/rewrite/edits/unmentioned.h"
#include "core/rewrite/run/sweep.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::OperandId;
using ir::ValueId;

// Beyond this many nodes, dependences are found by the check of the edit.
constexpr std::size_t kMaxSearch = 1 << 16;

class Independence {
 public:
  Independence(GraphRun& run, Matches members)
      : graph_(run.graph), marks_(run.workspace), members_(members) {}

  std::vector<bool> find() {
    std::vector<bool> out(members_.size(), true);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (NodeId n : members_[i]->consumed) {
        limit_ = std::max(limit_, graph_.node(n).rank);
        out[i] = out[i] && owner_.emplace(n, i).second;
      }
    }
    search();
    for (std::size_t i : hit_) out[i] = false;
    return out;
  }

 private:
  // Searches everything that depends on the results, up to the rank of the last
  // member.
  void search() {
    marks_.clear_marks();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (ValueId v : members_[i]->results) follow(v, i);
    }
    for (std::size_t at = 0; at < list_.size() && at < kMaxSearch; ++at) {
      for (ValueId v : graph_.outputs(list_[at])) {
        if (v) follow(v, members_.size());
      }
      const NodeId owner = graph_.block(graph_.node(list_[at]).block).owner;
      if (owner) visit(owner, members_.size());
    }
  }

  void follow(ValueId value, std::size_t from) {
    if (!value) return;
    for (OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
      visit(graph_.operand(u).user, from);
    }
  }

  // `from`: the member whose result the node reads, or no member.
  void visit(NodeId node, std::size_t from) {
    const auto it = owner_.find(node);
    if (it != owner_.end()) {
      if (it->second == from) return;
      hit_.push_back(it->second);
    }
    if (graph_.node(node).rank > limit_ || !marks_.mark(node)) return;
    list_.push_back(node);
  }

  ir::Graph& graph_;
  Workspace& marks_;
  Matches members_;
  std::unordered_map<NodeId, std::size_t> owner_;
  std::uint64_t limit_ = 0;
  std::vector<NodeId> list_;
  std::vector<std::size_t> hit_;
};

}  // namespace

std::size_t GroupNumbers::add(std::uint32_t rule, ir::BlockId block,
                              std::string_view key) {
  const auto [it, is_new] =
      last_.emplace(std::to_string(rule) + "|" + std::to_string(block.index()) +
                        "|" + std::string(key),
                    sizes_.size());
  if (!is_new && sizes_[it->second] == kMaxOutputs) it->second = sizes_.size();
  if (it->second == sizes_.size()) sizes_.push_back(0);
  ++sizes_[it->second];
  return it->second;
}

std::vector<bool> independent(GraphRun& run, Matches members) {
  return Independence(run, members).find();
}

Status Sweep::groups() {
  if (state_.is_full()) return {};
  const std::uint64_t since = state_.version;
  ir::Held keys(state_.model);
  auto collected = collect(keys);
  if (!collected) return collected.error();
  for (std::vector<Member>& members : *collected) {
    if (members.size() < 2 || state_.is_full()) continue;
    if (Status s = apply_group(std::move(members), since); !s) return s;
  }
  return {};
}

// Groups in the order of their first members; members in graph order.
Result<std::vector<std::vector<Sweep::Member>>> Sweep::collect(ir::Held& held) {
  const auto order = ir::topological_order(graph_);
  if (!order) return order.error();
  std::vector<std::vector<Member>> out;
  GroupNumbers numbers;
  std::uint64_t left = order->size();
  for (NodeId root : *order) {
    if (Status s = state_.tick(--left); !s) return s.error();
    if (!machine_->may_match(root)) continue;
    if (Status s = match_at(root, grouped_); !s) return s.error();
    const std::vector<match::Match> found = std::move(found_);
    found_.clear();
    for (const match::Match& match : found) {
      const std::uint32_t rule = rule_of(match);
      state_.work_at(run_, rule, root);
      const Clock::time_point start = Clock::now();
      auto candidate = filter(match);
      if (!candidate) return candidate.error();
      state_.seconds_of[rule] += seconds_since(start);
      if (!*candidate) continue;
      const std::size_t group =
          numbers.add(rule, graph_.node(root).block, (*candidate)->key());
      if (group == out.size()) out.emplace_back();
      // The key is stored by the candidate, and perhaps by the group numbers.
      held.add(sizeof(Member) + 2 * (*candidate)->key().size());
      out[group].push_back({match, std::move(*candidate)});
    }
  }
  return out;
}

bool Sweep::is_stale(const match::Match& match, std::uint64_t since) const {
  const auto changed = [&](NodeId n) {
    return n && (graph_.node(n).removed || (n.index() < touched_at_.size() &&
                                            touched_at_[n.index()] > since));
  };
  return std::ranges::any_of(match.consumed, changed) ||
         std::ranges::any_of(match.nodes, changed);
}

Result<bool> Sweep::apply_parts(std::uint32_t rule, Candidates candidates,
                                Matches matches, const Parts& parts) {
  const std::uint64_t since = state_.version;
  bool changed = false;
  for (const std::vector<std::size_t>& part : parts) {
    if (part.size() == 1) {
      standing_->reject(rule, place_of(graph_, matches[part[0]]->root),
                        goes_with_none());
      continue;
    }
    std::vector<Candidate*> own;
    std::vector<const match::Match*> its;
    for (std::size_t i : part) {
      if (is_stale(*matches[i], since)) continue;
      own.push_back(candidates[i]);
      its.push_back(matches[i]);
    }
    if (its.size() < 2) continue;
    const auto done = apply(rule, own, its);
    if (!done) return done;
    changed |= *done;
  }
  return changed;
}

Status Sweep::apply_group(std::vector<Member> members, std::uint64_t since) {
  std::erase_if(members,
                [&](const Member& m) { return is_stale(m.match, since); });
  std::vector<const match::Match*> matches;
  for (const Member& m : members) matches.push_back(&m.match);
  const std::vector<bool> keep = independent(run_, matches);
  std::vector<Candidate*> candidates;
  matches.clear();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!keep[i]) continue;
    matches.push_back(&members[i].match);
    candidates.push_back(members[i].candidate.get());
  }
  if (matches.size() < 2) return {};
  const std::uint32_t rule = rule_of(*matches[0]);
  state_.work_at(run_, rule, matches[0]->root);
  standing_->of[rule].matches += matches.size();
  const Clock::time_point start = Clock::now();
  const auto changed = apply(rule, candidates, matches);
  state_.seconds_of[rule] += seconds_since(start);
  return changed ? Status() : Status(changed.error());
}

}  // namespace ruleengine::rewrite
