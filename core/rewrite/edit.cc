#include "core/rewrite/edit.h"

#include <algorithm>

#include "core/ir/shapes.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {

void EditState::reject(std::string reason, ir::ValueId culprit) {
  if (failure) return;
  failure = Rejection{std::move(reason),
                      culprit ? ir::describe(graph, facts, culprit) : ""};
}

ir::NodeId EditState::add_node(ir::OpId op, ir::BlockId at,
                               std::span<const ir::ValueId> inputs,
                               std::uint32_t output_count,
                               std::span<const ir::Attribute> attributes) {
  const std::uint64_t key = read(inputs);
  added.push_back(log.add_node(op, at, inputs, output_count, attributes, key));
  return added.back();
}

void EditState::bring_back(ir::NodeId node,
                           std::span<const ir::ValueId> inputs) {
  log.bring_back(node, inputs, read(inputs));
  added.push_back(node);
}

std::uint64_t EditState::read(std::span<const ir::ValueId> inputs) {
  std::uint64_t highest = rank;
  for (ir::ValueId v : inputs) {
    if (const ir::NodeId p = graph.producer(v)) {
      highest = std::max(highest, graph.node(p).rank);
    }
    win_reader(v);
  }
  return highest;
}

void EditState::declare(ir::ValueId value, const ir::Type* type) {
  log.set_declared(value, type);
  declared.emplace_back(value, type);
}

void EditState::set_operand(ir::OperandId slot, ir::ValueId value) {
  const ir::Operand before = graph.operand(slot);
  log.set_operand(slot, value);
  slots.push_back(slot);
  moved.push_back(before.user);
  lose_reader(before.value);
  win_reader(value);
}

void EditState::lose_reader(ir::ValueId value) {
  if (!value) return;
  lost.push_back(value);
  if (const ir::NodeId p = graph.producer(value)) readers.push_back(p);
}

void EditState::adopt(ir::ValueId value) {
  const ir::Value& v = graph.value(value);
  if (v.kind != ir::ValueKind::kInitializer) return;
  if (v.removed) {
    log.revive_initializer(value);
  } else if (v.name) {
    return;
  }
  if (has_stem.contains(value)) return;
  add_stem(value, "");
  adopted.push_back(value);
}

void EditState::add_heir(const Heir& heir) {
  auto& index = heir.is_output ? output_heirs : other_heirs;
  index.emplace(heir.value, heirs.size());
  heirs.push_back(heir);
}

const Heir* EditState::heir_of(ir::ValueId value, bool is_output) const {
  const auto& index = is_output ? output_heirs : other_heirs;
  const auto it = index.find(value);
  return it == index.end() ? nullptr : &heirs[it->second];
}

void EditState::add_stem(ir::ValueId value, std::string stem) {
  has_stem.insert(value);
  stems.emplace_back(value, std::move(stem));
}

void EditState::win_reader(ir::ValueId value) {
  if (!value) return;
  adopt(value);
  if (const ir::NodeId p = graph.producer(value)) readers.push_back(p);
}

void EditState::undo() {
  log.undo_to(0);
  added.clear();
  removed.clear();
  touched.clear();
  changed = false;
  done = true;
}

Edit::Edit(ir::Graph& graph, ir::Facts& facts, Provenance provenance,
           Workspace* workspace)
    : journal_(std::make_unique<Journal>(graph, facts, std::move(provenance),
                                         workspace)) {
  facts.settle_doubts();
}

Edit::Edit(Edit&& other) noexcept = default;

Edit::~Edit() {
  if (journal_) undo();
}

ir::Graph& Edit::graph() const { return journal_->graph; }
ir::Facts& Edit::facts() const { return journal_->facts; }

void Edit::set_block(ir::BlockId block) { journal_->block = block; }
void Edit::set_rank(std::uint64_t rank) { journal_->rank = rank; }

void Edit::claim(const pattern::Pattern& pattern,
                 std::span<const match::Match* const> matches) {
  EditState& s = *journal_;
  Claimants all = claimants_of(s.graph, pattern, matches);
  if (!all.empty()) s.claims.push_back(std::move(all));
}

Mentions& Edit::mentions() { return journal_->mentions; }

std::vector<std::vector<std::size_t>> Edit::divisions() const {
  return rewrite::divisions(*journal_);
}

void Edit::replace(ir::ValueId old_value, ir::ValueId new_value) {
  journal_->actions.push_back({old_value, new_value, {}});
  replace_value(*journal_, old_value, new_value);
}

void Edit::replace_input(ir::NodeId node, std::uint32_t input,
                         ir::ValueId new_value) {
  EditState& s = *journal_;
  const ir::Node& n = s.graph.node(node);
  if (input >= n.operand_count) {
    s.reject("the node has no input " + std::to_string(input), {});
    return;
  }
  const ir::OperandId slot(n.first_operand + input);
  if (s.graph.operand(slot).value == new_value) return;
  if (new_value &&
      !encloses(s.graph, s.graph.value(new_value).block, n.block)) {
    s.reject("the new value is not visible to the node that would read it",
             new_value);
    return;
  }
  s.actions.push_back({s.graph.operand(slot).value, new_value, slot});
  s.set_operand(slot, new_value);
}

void Edit::remove_dead(std::span<const ir::NodeId> roots) {
  rewrite::remove_dead(*journal_, roots);
}

void Edit::undo() {
  if (!journal_->done) journal_->undo();
}

bool Edit::empty() const {
  return journal_->log.size() == 0 && !journal_->failure &&
         journal_->assumptions.empty();
}

bool Edit::changed() const { return journal_->changed; }

void Edit::inlines(ir::NodeId call) { journal_->inlined.push_back(call); }

void Edit::assume(Assumption assumption) {
  add_assumption(journal_->assumptions, std::move(assumption));
}
std::span<const Assumption> Edit::assumptions() const {
  return journal_->assumptions;
}

std::span<const ir::NodeId> Edit::touched() const { return journal_->touched; }
std::span<const ir::NodeId> Edit::added() const { return journal_->added; }
std::span<const ir::NodeId> Edit::removed() const { return journal_->removed; }

Edit::NewConstants Edit::new_constants() const {
  const EditState& s = *journal_;
  NewConstants out;
  std::int64_t most = -1;
  ir::ValueId largest;
  for (std::size_t i = s.first_value; i < s.graph.value_count(); ++i) {
    const ir::ValueId v(i);
    const ir::Value& value = s.graph.value(v);
    if (value.kind != ir::ValueKind::kInitializer || value.removed ||
        s.graph.reader_count(v) == 0) {
      continue;
    }
    const std::int64_t size = value.tensor->byte_size();
    out.bytes += size;
    if (size > most) largest = v;
    most = std::max(most, size);
  }
  if (largest) out.largest = s.graph.name(largest);
  for (const auto& [value, stem] : s.stems) {
    if (value == largest && out.largest.empty()) out.largest = stem;
  }
  return out;
}

void add_assumption(std::vector<Assumption>& all, Assumption one) {
  if (std::ranges::find(all, one.text, &Assumption::text) == all.end()) {
    all.push_back(std::move(one));
  }
}

}  // namespace ruleengine::rewrite
