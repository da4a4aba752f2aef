#include <algorithm>
#include <limits>
#include <span>

#include "core/rewrite/history/needs.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

// The depth to which reused nodes, and the inputs of those, are searched.
constexpr int kDeepest = 64;

}  // namespace

// Repeats the edits of a History that are kept, in their order, on the original
// graph. Ids, names and metadata are those of the first time. An edit reads
// what its match reads now. If an edit cannot be repeated so, all edits before
// it are kept, and the replay starts again.
class Replay {
 public:
  Replay(History& history, const Needs& needs)
      : history_(history), graph_(history.graph_), needs_(needs) {}

  // False if an edit cannot be repeated even with all edits before it.
  Result<bool> run(const Deadline& deadline) {
    const std::span records(history_.records_);
    for (std::size_t k = 0; k < records.size(); ++k) {
      if (Status s = deadline.check(); !s) return s.error();
      if (!records[k].kept || do_again(records[k])) continue;
      const auto before = records.first(k);
      if (std::ranges::all_of(before, &EditRecord::kept)) return false;
      for (EditRecord& each : before) each.kept = true;
      history_.log_.park_to(0);
      k = std::numeric_limits<std::size_t>::max();  // again from the first
    }
    return true;
  }

 private:
  bool do_again(EditRecord& record) {
    EditState state(graph_, history_.facts_, {}, &history_.workspace_);
    state.first_node = record.first_node;
    state.first_value = record.first_value;
    state.again = Again{
        .end_node = record.end_node,
        .end_value = record.end_value,
        .fresh = graph_.node_count(),
        .carriers = History::part(history_.nodes_, record.carriers),
        .names = &history_.names_,
    };
    const auto consumed = History::part(history_.nodes_, record.consumed);
    const bool stands = std::ranges::none_of(
        consumed, [&](NodeId n) { return graph_.node(n).removed; });
    if (!stands || !build(state, record) || !act(state, record)) {
      state.undo();
      return false;
    }
    remove_dead(state, consumed);
    if (state.failure || closes_cycle(state)) {
      state.undo();
      return false;
    }
    settle_names(state);
    keep(state);
    sign(state, record);
    record.builds = !state.added.empty();
    history_.log_.append(std::move(state.log));
    return true;
  }

  // New nodes of undone edits that this edit reused are now its own.
  void sign(EditState& state, const EditRecord& record) {
    const auto own =
        static_cast<std::uint32_t>(&record - history_.records_.data());
    for (NodeId n : state.added) {
      if (needs_.maker(n) != own) state.log.set_metadata(n, record.metadata);
    }
  }

  bool build(EditState& state, const EditRecord& record) {
    for (NodeId n : History::part(history_.nodes_, record.added)) {
      if (!bring_back(state, record, n, 0)) return false;
    }
    return true;
  }

  bool bring_back(EditState& state, const EditRecord& record, NodeId node,
                  int depth) {
    if (!graph_.node(node).removed) return true;  // another edit restored it
    if (depth > kDeepest) return false;
    SmallVector<ValueId, 8> inputs;
    for (const ir::Operand& o : graph_.inputs(node)) inputs.push_back(o.value);
    for (ValueId& v : inputs) {
      const auto now = resolve(state, record, v, depth);
      if (!now) return false;
      v = *now;
      if (v &&
          !encloses(graph_, graph_.value(v).block, graph_.node(node).block))
        return false;
    }
    state.bring_back(node, std::span<const ValueId>(inputs));
    return true;
  }

  // The value to read in place of the one that `record` read; none if there is
  // none.
  std::optional<ValueId> resolve(EditState& state, const EditRecord& record,
                                 ValueId value, int depth) {
    if (!value) return value;
    for (const Turned& t : History::part(history_.turned_, record.turned)) {
      if (t.value != value) continue;
      const ir::Operand& now = graph_.operand(t.slot);
      if (graph_.node(now.user).removed) return std::nullopt;
      return now.value;
    }
    const ir::Value& v = graph_.value(value);
    if (!v.removed || v.kind == ir::ValueKind::kInitializer) return value;
    const std::uint32_t maker = needs_.maker(v.producer);
    if (maker == Needs::kNobody) return std::nullopt;
    const EditRecord& made = history_.records_[maker];
    if (made.kept) return std::nullopt;
    if (!bring_back(state, made, v.producer, depth + 1)) return std::nullopt;
    return value;
  }

  bool act(EditState& state, const EditRecord& record) {
    for (const Action& a : History::part(history_.actions_, record.actions)) {
      const auto to = resolve(state, record, a.new_value, 0);
      if (!to) return false;
      if (a.slot) {
        if (graph_.node(graph_.operand(a.slot).user).removed) return false;
        if (graph_.operand(a.slot).value != *to) state.set_operand(a.slot, *to);
        continue;
      }
      if (graph_.value(a.old_value).removed) return false;
      const ir::Type* const type = graph_.value(a.old_value).declared;
      const bool is_output = graph_.value(a.old_value).block_output_count > 0;
      replace_value(state, a.old_value, *to);
      if (is_output && type != nullptr && *to) declare(state, *to, type);
    }
    for (const auto& [value, type] :
         History::part(history_.declared_, record.declared)) {
      const auto now = resolve(state, record, value, 0);
      if (now && *now && graph_.value(*now).declared == nullptr) {
        declare(state, *now, type);
      }
    }
    return !state.failure;
  }

  // Only outputs of nodes have declared types.
  void declare(EditState& state, ValueId value, const ir::Type* type) {
    const ir::Value& v = graph_.value(value);
    if (v.kind != ir::ValueKind::kNodeOutput || v.declared == type) return;
    state.log.set_declared(value, type);
  }

  History& history_;
  ir::Graph& graph_;
  const Needs& needs_;
};

Result<bool> replay(History& history, const Needs& needs,
                    const Deadline& deadline) {
  return Replay(history, needs).run(deadline);
}

}  // namespace ruleengine::rewrite
