// How questions are answered: what each depends on, in which order, and what an
// edit invalidates.
#include "core/analysis/solver/solver.h"

#include <algorithm>
#include <new>

namespace ruleengine::analysis {

using ir::NodeId;
using ir::OperandId;
using ir::Value;
using ir::ValueId;
using ir::ValueKind;

Solver::Solver(ir::Graph& graph, InferenceOptions options,
               const CallContext* call)
    : graph_(graph),
      options_(options),
      call_(call),
      types_(graph.model().arena),
      file_values_(graph.value_count()) {}

std::int64_t Solver::opset(std::string_view domain) const {
  if (call_ == nullptr || call_->opsets == nullptr) {
    return model().opset(domain);
  }
  return call_->opsets->version(domain);
}

const Memo& Solver::answer(ValueId value, Ask ask) {
  if (is_lost_) throw std::bad_alloc();
  grow();
  if (!resent_.empty()) refresh_sent();
  if (!marked_.empty()) refresh(last_that_matters(value));
  run({value, ask});
  if (!fillers_.empty() && stack_.empty() && look_for_stale()) {
    // Values that relied on declared numbers are unknown now; so are their
    // readers.
    for (ValueId v : std::exchange(fillers_, {})) mark(graph_.producer(v));
    refresh(last_that_matters(value));
    run({value, ask});
  }
  return memos_[value.index()];
}

// Looks for a number that the file declares and that is wrong. One such number
// discredits all others that nothing confirms, so the whole graph is checked,
// once, and only if inputs vary and a question needs to know.
bool Solver::look_for_stale() {
  if (stale_ || call_ != nullptr || !inputs_vary()) return stale_;
  grow();
  const auto look = [&](ValueId id) {
    const Value& v = graph_.value(id);
    if (!v.removed && v.declared != nullptr &&
        v.kind == ValueKind::kNodeOutput) {
      run({id, Ask::kType});
    }
  };
  if (!looked_for_stale_) {
    looked_for_stale_ = true;
    if (!marked_.empty()) refresh();
    const std::size_t most = graph_.value_count();
    for (std::size_t i = 0; i < most && !stale_; ++i) look(ValueId(i));
  }
  // After an edit, inference may know more than before.
  for (NodeId node : std::exchange(unlooked_, {})) {
    if (stale_ || node.index() >= graph_.node_count()) continue;
    for (ValueId v : graph_.outputs(node)) {
      if (v) look(v);
    }
  }
  return stale_;
}

bool Solver::has_stale_sizes() {
  grow();
  if (!marked_.empty()) refresh();
  return look_for_stale();
}

const Memo& Solver::known(ValueId value) const {
  static const Memo kNothing;
  return value && value.index() < memos_.size() ? memos_[value.index()]
                                                : kNothing;
}

bool Solver::done(ValueId value, Ask ask) const {
  return known(value).state[static_cast<std::size_t>(ask)] == State::kDone;
}

const ir::Type* Solver::type(ValueId value) const { return known(value).type; }

std::optional<std::span<const ir::Dim>> Solver::elements(ValueId value) const {
  const Memo& memo = known(value);
  if (memo.elements == nullptr || !done(value, Ask::kElements)) {
    return std::nullopt;
  }
  return memo.element_span();
}

const ir::Literal* Solver::constant(ValueId value) const {
  return done(value, Ask::kConstant) ? known(value).constant : nullptr;
}

NodeView Solver::view(NodeId node) {
  return {graph_, node, opset(graph_.op(node).domain), *this, call_};
}

State& Solver::state(const Query& q) {
  return memos_[q.value.index()].state[static_cast<std::size_t>(q.ask)];
}

void Solver::grow() {
  if (memos_.size() != graph_.value_count()) {
    memos_.resize(graph_.value_count());
  }
}

void Solver::need(ValueId value, Ask ask) {
  if (!value) return;
  const State s = state({value, ask});
  // An open question below on the stack is a cycle: unknown.
  if (s == State::kNever || s == State::kStale) stack_.push_back({value, ask});
}

void Solver::run(const Query& root) {
  const std::size_t bottom = stack_.size();
  need(root.value, root.ask);
  while (stack_.size() > bottom) {
    const Query q = stack_.back();
    State& s = state(q);
    if (s == State::kDone) {
      stack_.pop_back();
      continue;
    }
    if (s == State::kNever) s = State::kOpen;
    if (s == State::kStale) s = State::kStaleOpen;
    const bool was_stale = s == State::kStaleOpen;
    if (prepare(q)) continue;
    stack_.pop_back();
    last_marked_ = {};
    const bool changed = compute(q);
    state(q) = State::kDone;
    if (was_stale && changed) mark_users(q.value);
  }
}

bool Solver::prepare(const Query& q) {
  const std::size_t before = stack_.size();
  const Value& v = graph_.value(q.value);
  const bool made = v.kind == ValueKind::kNodeOutput && v.producer;
  switch (q.ask) {
    case Ask::kType:
      if (made) prepare_type(v.producer);
      break;
    case Ask::kOrigin:
      if (made) prepare_origin(v.producer);
      break;
    case Ask::kConstant:
      if (made) prepare_constant(q);
      break;
    case Ask::kElements:
      prepare_elements(q);
      break;
    case Ask::kLayout:
      prepare_layout(q.value);
      break;
  }
  return stack_.size() > before;
}

void Solver::prepare_type(NodeId node) {
  const std::size_t before = stack_.size();
  for (const ir::Operand& o : graph_.inputs(node)) need(o.value, Ask::kType);
  for (const ir::Attribute& a : graph_.node(node).attributes) {
    for (ir::BlockId b : a.blocks) {
      for (ValueId v : graph_.block(b).outputs) need(v, Ask::kType);
    }
  }
  if (stack_.size() == before) prepare_values(node);
}

void Solver::prepare_values(NodeId node) {
  const ops::TypeRule* rule = rules_of(graph_.node(node).op).type;
  const std::uint32_t mask = rule != nullptr ? rule->values : ~0u;
  const auto inputs = graph_.inputs(node);
  for (std::size_t i = 0; i < inputs.size() && i < 32; ++i) {
    const ValueId v = inputs[i].value;
    if (((mask >> i) & 1) == 0 || !v) continue;
    if (followable(v)) {
      need(v, Ask::kElements);
      continue;
    }
    const auto count = count_of(v);
    if (count && *count <= kMaxElements) need(v, Ask::kConstant);
  }
}

void Solver::prepare_origin(NodeId node) {
  if (!can_evaluate(node)) return;
  if (rules_of(graph_.node(node).op).roles().measures) return;
  const std::size_t before = stack_.size();
  for (const ir::Operand& o : graph_.inputs(node)) need(o.value, Ask::kOrigin);
  if (stack_.size() > before ||
      rules_of(graph_.node(node).op).roles().folds_whole ||
      origin_of_node(node) != Origin::kConstant) {
    return;
  }
  // The size of the result is needed.
  for (ValueId v : graph_.outputs(node)) need(v, Ask::kType);
  for (const ir::Operand& o : graph_.inputs(node)) need(o.value, Ask::kType);
}

void Solver::prepare_constant(const Query& q) {
  need(q.value, Ask::kOrigin);
  if (!done(q.value, Ask::kOrigin)) return;
  const NodeId node = graph_.producer(q.value);
  const Origin origin = known(q.value).origin;
  if (origin == Origin::kRuntime || origin == Origin::kBeyond) return;
  if (origin == Origin::kShape) {
    need(q.value, Ask::kType);
    if (!done(q.value, Ask::kType)) return;
    if (followable(q.value)) {
      need(q.value, Ask::kElements);
      if (!done(q.value, Ask::kElements) || from_elements(q.value)) return;
    }
    if (rules_of(graph_.node(node).op).roles().measures) return;
  }
  for (const ir::Operand& o : graph_.inputs(node)) {
    need(o.value, Ask::kConstant);
  }
}

void Solver::prepare_elements(const Query& q) {
  need(q.value, Ask::kType);
  if (!done(q.value, Ask::kType) || !followable(q.value)) return;
  need(q.value, Ask::kOrigin);
  if (!done(q.value, Ask::kOrigin)) return;
  if (known(q.value).origin == Origin::kConstant) {
    need(q.value, Ask::kConstant);
    return;
  }
  const NodeId node = graph_.producer(q.value);
  if (!node) return;
  const std::size_t before = stack_.size();
  const ops::ElementRule* rule = rules_of(graph_.node(node).op).elements;
  const auto inputs = graph_.inputs(node);
  bool followed = rule != nullptr;
  for (std::size_t i = 0; rule != nullptr && i < inputs.size(); ++i) {
    const std::size_t bit = std::min<std::size_t>(i, 31);
    if ((rule->types >> bit) & 1) need(inputs[i].value, Ask::kType);
    if (((rule->values >> bit) & 1) == 0) continue;
    need(inputs[i].value, Ask::kElements);
    followed = followed &&
               (!inputs[i].value || known(inputs[i].value).elements != nullptr);
  }
  // Numbers may be known although the path goes through values that are not
  // tracked (floats).
  if (stack_.size() > before || followed ||
      known(q.value).origin != Origin::kShape) {
    return;
  }
  for (const ir::Operand& o : inputs) need(o.value, Ask::kConstant);
}

// --- edits -------------------------------------------------------------------

void Solver::invalidate(NodeId node) noexcept {
  try {
    grow();
    mark(node);
    mark_sent(node);
    if (edited_.empty() || edited_.back() != node) edited_.push_back(node);
    if (looked_for_stale_ && !stale_) unlooked_.push_back(node);
  } catch (const std::bad_alloc&) {
    is_lost_ = true;
  }
}

// The highest rank that an answer may depend on: that of the producer, unless
// an edit is in progress; inside of a body that of the outermost owner.
// Refreshing more would be wasted: rules edit from the first node on, so
// another edit follows.
std::uint64_t Solver::last_that_matters(ValueId value) {
  std::erase_if(edited_, [&](NodeId n) {
    return n.index() >= graph_.node_count() || graph_.node(n).removed ||
           is_in_order(n);
  });
  if (!edited_.empty()) return kLast;
  NodeId last = graph_.producer(value);
  ir::BlockId block = graph_.value(value).block;
  while (const NodeId owner = graph_.block(block).owner) {
    last = owner;
    block = graph_.node(owner).block;
  }
  return last ? graph_.node(last).rank : 0;
}

bool Solver::is_in_order(NodeId node) const {
  const std::uint64_t rank = graph_.node(node).rank;
  const auto is_before = [&](ValueId v) {
    const NodeId producer = graph_.producer(v);
    return !producer || graph_.node(producer).rank <= rank;
  };
  const auto reads_before = [&](const ir::Operand& o) {
    return !o.value || is_before(o.value);
  };
  const NodeId owner = graph_.block(graph_.node(node).block).owner;
  if (owner && graph_.node(owner).rank < rank) return false;
  if (!std::ranges::all_of(graph_.inputs(node), reads_before)) return false;
  for (const ir::Attribute& a : graph_.node(node).attributes) {
    for (ir::BlockId b : a.blocks) {
      if (!std::ranges::all_of(graph_.block(b).outputs, is_before)) {
        return false;
      }
    }
  }
  return true;
}

void Solver::renumber_marked() {
  numbering_ = graph_.numbering();
  std::vector<Marked> again;
  for (; !marked_.empty(); marked_.pop()) {
    const NodeId node(marked_.top().second);
    if (node.index() >= graph_.node_count()) continue;
    again.emplace_back(graph_.node(node).rank, node.index());
  }
  for (const Marked& each : again) marked_.push(each);
}

void Solver::mark(NodeId node) {
  // An edit reports a node once for each of its outputs.
  if (node == last_marked_) return;
  bool any = false;
  for (ValueId v : graph_.outputs(node)) {
    if (!v || v.index() >= memos_.size()) continue;
    for (State& s : memos_[v.index()].state) {
      if (s == State::kDone) s = State::kStale;
      any = any || s == State::kStale;
    }
  }
  if (!any) return;
  marked_.push({graph_.node(node).rank, node.index()});
  last_marked_ = node;
}

void Solver::mark_users(ValueId value) {
  for (OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
    mark(graph_.operand(u).user);
  }
  if (graph_.value(value).block_output_count > 0 && graph_.block_count() > 1) {
    mark_block_owners(value);
  }
}

void Solver::mark_block_owners(ValueId value) {
  // Nearly always the value is an output of its own block, once.
  std::uint32_t left = graph_.value(value).block_output_count;
  const auto look = [&](ir::BlockId id) {
    const ir::Block& b = graph_.block(id);
    const auto times = std::ranges::count(b.outputs, value);
    if (times == 0) return;
    left -= static_cast<std::uint32_t>(times);
    if (b.owner) mark(b.owner);
  };
  const ir::BlockId home = graph_.value(value).block;
  look(home);
  for (std::size_t i = 0; i < graph_.block_count() && left > 0; ++i) {
    if (ir::BlockId(i) != home) look(ir::BlockId(i));
  }
}

void Solver::refresh(std::uint64_t most) {
  if (numbering_ != graph_.numbering()) renumber_marked();
  // With a cycle this loop might not end; after this many steps the rest is
  // computed when asked for.
  std::size_t steps = 64 * (marked_.size() + memos_.size());
  while (!marked_.empty() && steps-- > 0) {
    const auto [rank, index] = marked_.top();
    if (rank > most) return;
    const NodeId node(index);
    marked_.pop();
    last_marked_ = {};
    // A removed node is asked about again only if an undo restores it.
    if (node.index() >= graph_.node_count() || graph_.node(node).removed) {
      continue;
    }
    if (graph_.node(node).rank > rank) {  // its rank was raised
      marked_.push({graph_.node(node).rank, index});
      continue;
    }
    for (ValueId v : graph_.outputs(node)) {
      if (!v || graph_.producer(v) != node) continue;
      for (std::size_t a = 0; a < kAsks; ++a) {
        if (memos_[v.index()].state[a] == State::kStale) {
          run({v, static_cast<Ask>(a)});
        }
      }
    }
  }
  while (!marked_.empty()) marked_.pop();
}

}  // namespace ruleengine::analysis
