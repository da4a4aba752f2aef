#include <algorithm>
#include <tuple>
#include <utility>

#include "core/match/compile/assembler.h"
#include "core/ops/attribute_meaning.h"

// The sequences of rules are merged into trees of tests; trees and blocks are
// laid out as cells. If several children of a cell test the same register in
// the same way, they become a group, and a lookup selects the child.
namespace ruleengine::match {

void Assembler::add_rule(std::uint32_t rule, const Sequence& sequence,
                         std::vector<std::uint32_t> root_ops,
                         std::uint32_t output) {
  std::ranges::sort(root_ops);
  const auto repeated = std::ranges::unique(root_ops);
  root_ops.erase(repeated.begin(), repeated.end());
  const auto [start, is_new] = starts_.try_emplace(
      {std::move(root_ops), output}, static_cast<std::uint32_t>(grown_.size()));
  if (is_new) grown_.emplace_back();
  std::uint32_t at = start->second;
  const auto visit = [&] {
    ++grown_[at].rules;
    grown_[at].least_rule = std::min(grown_[at].least_rule, rule);
  };
  visit();
  for (const Instr& instr : sequence) {
    const auto [child, fresh] = grown_ids_.try_emplace(
        {at, instr}, static_cast<std::uint32_t>(grown_.size()));
    if (fresh) {
      grown_[at].children.push_back(child->second);
      grown_.emplace_back();
      grown_.back().instr = instr;
    }
    at = child->second;
    visit();
  }
}

void Assembler::finish() {
  need_frame(0, 1, 0);
  code_.cells.push_back({.instr = {.op = Do::kFits}});
  code_.fits = 0;
  for (const Sequence& sequence : blocks_) lay_block(sequence);
  for (std::uint32_t i = 0; i < code_.chains.size(); ++i) {
    code_.next_steps.push_back(static_cast<std::uint32_t>(code_.cells.size()));
    code_.cells.push_back({.instr = {.op = Do::kNextStep, .a = i}});
  }
  lay_trees();
}

void Assembler::lay_block(const Sequence& sequence) {
  code_.blocks.push_back(static_cast<std::uint32_t>(code_.cells.size()));
  for (const Instr& instr : sequence) {
    const auto next = static_cast<std::uint32_t>(code_.cells.size() + 1);
    code_.cells.push_back({.instr = instr, .next = next});
  }
  code_.cells.push_back({.instr = {.op = Do::kReturn}});
}

void Assembler::lay_trees() {
  for (const auto& [key, top] : starts_) lay_start(key, top);
  while (!open_.empty()) {
    const Open open = open_.back();
    open_.pop_back();
    const std::uint32_t branch = lay_fork(open.grown, open.segment);
    code_.cells[open.cell].branch = branch;
  }
}

void Assembler::lay_start(const StartKey& key, std::uint32_t top) {
  Start start;
  start.ops = key.first;
  start.output = key.second;
  start.segment = static_cast<std::uint32_t>(code_.segments.size());
  code_.segments.push_back(
      {.rules = grown_[top].rules,
       .rule = grown_[top].rules == 1 ? grown_[top].least_rule : kNone,
       .least_rule = grown_[top].least_rule});
  start.branch = lay_fork(top, start.segment);
  code_.starts.push_back(std::move(start));
}

std::uint32_t Assembler::lay_fork(std::uint32_t grown, std::uint32_t segment) {
  Branch branch;
  // A copy, in case laying out cells changes the original.
  const std::vector<std::uint32_t> children = grown_[grown].children;
  for (std::uint32_t child : children) add_child(branch, child);
  for (Group& group : branch) {
    std::ranges::stable_sort(group.children, [](const Child& a,
                                                const Child& b) {
      return std::tie(a.op, a.number, a.key) < std::tie(b.op, b.number, b.key);
    });
    for (Child& child : group.children) {
      child.cell = lay_segment(child.cell, segment);
      child.segment = static_cast<std::uint32_t>(code_.segments.size() - 1);
    }
  }
  code_.forks.push_back(std::move(branch));
  return static_cast<std::uint32_t>(code_.forks.size() - 1);
}

std::uint32_t Assembler::lay_segment(std::uint32_t grown,
                                     std::uint32_t parent) {
  const auto segment = static_cast<std::uint32_t>(code_.segments.size());
  const Grown& first = grown_[grown];
  code_.segments.push_back({.parent = parent,
                            .rules = first.rules,
                            .rule = first.rules == 1 ? first.least_rule : kNone,
                            .least_rule = first.least_rule});
  const auto start = static_cast<std::uint32_t>(code_.cells.size());
  for (std::uint32_t at = grown;;) {
    const Grown& here = grown_[at];
    const auto cell = static_cast<std::uint32_t>(code_.cells.size());
    code_.cells.push_back({.instr = here.instr});
    if (here.children.empty()) break;
    if (here.children.size() > 1) {
      open_.push_back({cell, at, segment});
      break;
    }
    code_.cells[cell].next = cell + 1;
    at = here.children[0];
  }
  return start;
}

void Assembler::add_child(Branch& branch, std::uint32_t grown) {
  const Instr& instr = grown_[grown].instr;
  Group group;
  Child child;
  child.cell = grown;  // until it is laid out
  group.reg = instr.a;
  if (instr.op == Do::kNode && (instr.b & kOpSet) == 0) {
    group.kind = Group::Kind::kOps;
    child.op = instr.b;
  } else if (instr.op == Do::kNumber && code_.numbers[instr.b].first) {
    group.kind = Group::Kind::kNumbers;
    child.number = code_.numbers[instr.b].second[0];
  } else if (instr.op == Do::kLiteral) {
    const AttributePattern& literal = code_.literals[instr.b];
    // Axes may be counted from either end.
    if (!ops::names_axes(literal.name)) child.key = literal_key(literal);
    if (!child.key.empty()) {
      group.kind = Group::Kind::kLiterals;
      group.name = literal.name;
    }
  }
  if (group.kind != Group::Kind::kOne) {
    for (Group& other : branch) {
      if (other.kind != group.kind || other.reg != group.reg ||
          other.name != group.name) {
        continue;
      }
      other.children.push_back(std::move(child));
      return;
    }
  }
  group.children.push_back(std::move(child));
  branch.push_back(std::move(group));
}

}  // namespace ruleengine::match
