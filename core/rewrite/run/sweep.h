// Sweep: runs one stage over one graph until nothing changes any more. A sweep
// matches every node once, and nodes that edits touched again. A sweep without
// changes is the fixed point; its rejections are reported. Internal to
// core/rewrite.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/small_vector.h"
#include "core/match/known_ops.h"
#include "core/match/machine.h"
#include "core/rewrite/run/run_state.h"
#include "core/rewrite/run/worklist.h"

namespace ruleengine::rewrite {

class Sweep {
 public:
  // `known`: the ops of the stage's program in the run's model; nullptr without
  // a program.
  Sweep(RunState& state, GraphRun& run, const Stage& stage,
        const std::shared_ptr<match::KnownOps>& known);

  // Runs to the fixed point; `standing` gets the rejections of the last sweep.
  Status run(Standing& standing);

 private:
  // A match that will be a member of a group.
  struct Member {
    match::Match match;
    std::unique_ptr<Candidate> candidate;
  };

  Result<bool> enable();
  // passes.cc
  class Passing;
  Result<bool> passes();
  Status check_passes();

  Result<bool> once();
  Status look(ir::NodeId root);
  Result<std::unique_ptr<Candidate>> filter(const match::Match& match);
  void note_found(std::uint32_t rule, ir::NodeId root);
  // True if the graph changed.
  Result<bool> apply(std::uint32_t rule, Candidates candidates,
                     Matches matches);
  // None if DriverOptions::permits is not set, so that nobody asks.
  std::optional<Site> site_of(std::uint32_t rule, const Rejected& place) const;
  // Notes an edit that was committed and changed something.
  Status note(std::uint32_t rule, const Edit& edit, const Rejected& place,
              std::optional<Site> site, Matches matches,
              std::span<const ir::NodeId> consumed);
  void touch(const Edit& edit);
  Status match_at(ir::NodeId root, const match::RuleMask& mask);

  // groups.cc
  Status groups();
  // The members are counted in `held` as long as they live.
  Result<std::vector<std::vector<Member>>> collect(ir::Held& held);
  Status apply_group(std::vector<Member> members, std::uint64_t since);
  // Applies each list of indices as a group, if it has two or more members.
  Result<bool> apply_parts(std::uint32_t rule, Candidates candidates,
                           Matches matches, const Parts& parts);
  bool is_stale(const match::Match& match, std::uint64_t since) const;

  std::uint32_t rule_of(const match::Match& match) const {
    return stage_.matching[match.rule];
  }

  RunState& state_;
  GraphRun& run_;
  ir::Graph& graph_;
  const Stage& stage_;
  std::unique_ptr<match::Machine> machine_;
  match::RuleMask single_, grouped_;
  bool any_single_ = false, any_grouped_ = false;
  std::vector<std::uint32_t> passing_;  // rules with a pass that take part
  Worklist worklist_;
  Standing* standing_ = nullptr;
  // Warnings of `where`, by rule and root, until the match is rewritten.
  std::map<std::pair<std::uint32_t, ir::NodeId>, std::vector<Warning>> allowed_;
  LoopDetector circling_;
  Patience patience_;
  std::size_t nodes_at_first_;
  int passes_ = 0;
  std::vector<match::Match> found_;
  // By node: the version of the run at the last edit that touched it.
  std::vector<std::uint64_t> touched_at_;
};

// Numbers the groups of matches that are rewritten as one: matches of one rule,
// in one block, with one key. Since a rule may need an output for each member
// (a Split), a group that has as many members as a node may have outputs is
// full, and a new one is started.
class GroupNumbers {
 public:
  // The group of the next match; equal to the number of groups so far for a new
  // one.
  std::size_t add(std::uint32_t rule, ir::BlockId block, std::string_view key);

 private:
  std::unordered_map<std::string, std::size_t> last_;  // by key
  std::vector<std::size_t> sizes_;
};

// Which members can be rewritten as one, in order: without those that overlap
// with, or depend on, another member.
std::vector<bool> independent(GraphRun& run, Matches members);

}  // namespace ruleengine::rewrite
