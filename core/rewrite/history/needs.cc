#include "core/rewrite/history/needs.h"

#include <algorithm>

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::OperandId;
using ir::ValueId;

}  // namespace

Needs::Needs(History& history)
    : history_(history),
      graph_(history.graph_),
      maker_(history.graph_.node_count(), kNobody) {
  for (std::uint32_t k = 0; k < history_.records_.size(); ++k) {
    const EditRecord& record = history_.records_[k];
    for (const Part p : {record.added, record.carriers}) {
      for (NodeId n : History::part(history_.nodes_, p)) {
        maker_[n.index()] = k;
      }
    }
    for (const Taken& t : History::part(history_.taken_, record.taken)) {
      if (t.slot) settings_[t.slot].push_back({k, t.value});
      if (t.value) takers_[t.value].push_back(k);
    }
  }
  for (EditRecord& record : history_.records_) {
    record.assumes = record.assumes || rests_on_assumption(record);
  }
}

// Whether it saw a node of an earlier record that assumes, or rests on one that
// does.
bool Needs::rests_on_assumption(const EditRecord& record) const {
  for (const Part p : {record.consumed, record.context, record.looked_at}) {
    for (NodeId n : History::part(history_.nodes_, p)) {
      const std::uint32_t made = maker(n);
      if (made != kNobody && history_.records_[made].assumes) return true;
    }
  }
  return false;
}

void Needs::find(std::uint32_t k) {
  forget(k);
  EditRecord& record = history_.records_[k];
  found_.clear();
  read_match(record);
  need_matched(record);
  need_assumed(record);
  need_settings(record);
  need_readers(record);
  need_inputs(record);
  std::ranges::sort(found_, [](const Need& a, const Need& b) {
    return std::pair(a.record, a.why) < std::pair(b.record, b.why);
  });
  const auto again = std::ranges::unique(found_, {}, &Need::record);
  found_.erase(again.begin(), again.end());
  record.needs = History::put(history_.needs_, found_);
}

// Removes the entries of record `k`; those of later ones are removed already.
void Needs::forget(std::uint32_t k) {
  const Part taken = history_.records_[k].taken;
  for (const Taken& t : History::part(history_.taken_, taken)) {
    if (t.slot) {
      auto& all = settings_[t.slot];
      while (!all.empty() && all.back().record == k) all.pop_back();
    }
    if (t.value) {
      auto& all = takers_[t.value];
      while (!all.empty() && all.back() == k) all.pop_back();
    }
  }
}

void Needs::read_match(const EditRecord& record) {
  matched_.clear();
  for (const Part p : {record.consumed, record.context}) {
    const auto nodes = History::part(history_.nodes_, p);
    matched_.insert(matched_.end(), nodes.begin(), nodes.end());
  }
  std::ranges::sort(matched_);
  reads_.clear();
  for (NodeId n : matched_) {
    const std::uint32_t first = graph_.node(n).first_operand;
    const auto inputs = graph_.inputs(n);
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].value) {
        reads_.push_back({inputs[i].value, OperandId(first + i)});
      }
    }
  }
  std::ranges::sort(reads_);
}

void Needs::need_matched(const EditRecord& record) {
  for (NodeId n : History::part(history_.nodes_, record.consumed)) {
    need(maker(n), Need::Why::kConsumed);
  }
  for (NodeId n : History::part(history_.nodes_, record.context)) {
    need(maker(n), Need::Why::kSeen);
  }
}

void Needs::need_assumed(const EditRecord& record) {
  for (NodeId n : History::part(history_.nodes_, record.looked_at)) {
    const std::uint32_t made = maker(n);
    if (made == kNobody || !history_.records_[made].assumes) continue;
    need(made, Need::Why::kSeen);
  }
}

void Needs::need_settings(EditRecord& record) {
  std::vector<Turned> turned;
  for (std::size_t i = 0; i < reads_.size();) {
    const ValueId value = reads_[i].value;
    std::size_t end = i;
    const Settings* const first = settings(reads_[i].slot);
    bool any = false, differ = false;
    for (; end < reads_.size() && reads_[end].value == value; ++end) {
      const Settings* const its = settings(reads_[end].slot);
      any = any || its != nullptr;
      differ = differ || (its == nullptr) != (first == nullptr) ||
               (its != nullptr && *its != *first);
    }
    for (; any && i < end; ++i) {
      const Settings* const its = settings(reads_[i].slot);
      if (its == nullptr) continue;
      if (differ || is_inner(value)) need_all(*its);
      turned.push_back({reads_[i].slot, value});
    }
    i = end;
  }
  record.turned = History::put(history_.turned_, turned);
}

// Made by a matched node, or a constant, whose value rules can read.
bool Needs::is_inner(ValueId value) const {
  if (graph_.value(value).tensor != nullptr) return true;
  const NodeId producer = graph_.producer(value);
  return producer &&
         (is_matched(producer) || graph_.op(producer).standard("Constant"));
}

void Needs::need_readers(const EditRecord& record) {
  const auto actions = History::part(history_.actions_, record.actions);
  for (const Part p : {record.consumed, record.died}) {
    for (NodeId n : History::part(history_.nodes_, p)) {
      for (ValueId v : graph_.outputs(n)) {
        const auto it = v ? takers_.find(v) : takers_.end();
        if (it == takers_.end()) continue;
        const bool is_result =
            std::ranges::find(actions, v, &Action::old_value) != actions.end();
        if (is_result) continue;
        for (std::uint32_t k : it->second) need(k, Need::Why::kTurned);
      }
    }
  }
}

// Inputs of new nodes that the match did not read.
void Needs::need_inputs(const EditRecord& record) {
  const auto shared = History::part(history_.nodes_, record.shared);
  const auto look = [&](ValueId v) {
    const NodeId p = v ? graph_.producer(v) : NodeId();
    const std::uint32_t made = maker(p);
    if (made == kNobody || v.index() >= record.first_value) return;
    const auto read = std::ranges::lower_bound(reads_, v, {}, &Read::value);
    if (read != reads_.end() && read->value == v) return;
    if (std::ranges::find(shared, p) != shared.end()) return;
    need(made, Need::Why::kSeen);
  };
  for (NodeId n : History::part(history_.nodes_, record.added)) {
    for (const ir::Operand& o : graph_.inputs(n)) look(o.value);
  }
  for (const Action& a : History::part(history_.actions_, record.actions)) {
    look(a.new_value);
  }
}

void Needs::need(std::uint32_t record, Need::Why why) {
  if (record != kNobody) found_.push_back({record, why});
}

void Needs::need_all(const Settings& settings) {
  for (const Setting& s : settings) need(s.record, Need::Why::kTurned);
}

const Needs::Settings* Needs::settings(OperandId slot) const {
  const auto it = settings_.find(slot);
  return it == settings_.end() || it->second.empty() ? nullptr : &it->second;
}

bool Needs::is_matched(NodeId node) const {
  return std::ranges::binary_search(matched_, node);
}

}  // namespace ruleengine::rewrite
