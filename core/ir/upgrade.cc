#include "core/ir/upgrade.h"

#include <algorithm>
#include <optional>
#include <span>

#include "core/ir/model.h"
#include "core/ir/narrow_float.h"
#include "core/ir/op_facts.h"
#include "core/ir/upgrade_table.h"

namespace ruleengine::ir {
namespace {

bool is_softmax_like(std::string_view type) {
  return std::ranges::find(kSoftmaxLike, type) != kSoftmaxLike.end();
}

bool once_explicit(std::string_view type) {
  return std::ranges::find(kOnceExplicit, type) != kOnceExplicit.end();
}

const Attribute* find(std::span<const Attribute> attributes,
                      std::string_view name) {
  for (const Attribute& a : attributes) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

template <typename T>
std::span<const std::byte> store(Arena& arena, std::span<const T> values) {
  return std::as_bytes(arena.copy(values));
}

// A scalar of a float type; none for types that an attribute never meant.
std::optional<Tensor> scalar(Arena& arena, float value, DataType dtype) {
  Tensor t;
  t.dtype = dtype;
  if (dtype == DataType::kFloat) {
    t.bytes = store<float>(arena, {&value, 1});
  } else if (dtype == DataType::kDouble) {
    const double wide = value;
    t.bytes = store<double>(arena, {&wide, 1});
  } else if (dtype == DataType::kFloat16) {
    const auto half =
        static_cast<std::uint16_t>(narrow(DataType::kFloat16, value));
    t.bytes = store<std::uint16_t>(arena, {&half, 1});
  } else {
    return std::nullopt;
  }
  return t;
}

Tensor ints(Arena& arena, std::span<const std::int64_t> values) {
  Tensor t;
  t.dtype = DataType::kInt64;
  const std::int64_t size = static_cast<std::int64_t>(values.size());
  t.dims = arena.copy(std::span<const std::int64_t>(&size, 1));
  t.bytes = store<std::int64_t>(arena, values);
  return t;
}

DataType element_type(Facts& facts, ValueId value) {
  const Type* type = value ? facts.type(value) : nullptr;
  return type != nullptr && type->is_tensor() ? type->elem
                                              : DataType::kFloat;
}

std::optional<std::int64_t> rank_of(Facts& facts, ValueId value) {
  const Type* type = value ? facts.type(value) : nullptr;
  if (type == nullptr || !type->has_shape) return std::nullopt;
  return static_cast<std::int64_t>(type->rank());
}

// The flattening Softmax of before 13 is the newest one only on the last axis.
void upgrade_softmax(ValueId input, Facts& facts, NewestForm& form) {
  const Attribute* axis = find(form.attributes, "axis");
  const std::int64_t at = axis != nullptr ? axis->i : 1;
  const auto rank = rank_of(facts, input);
  form.readable = at == -1 || (rank && at == *rank - 1);
  Attribute last;
  last.name = "axis";
  last.kind = AttributeKind::kInt;
  last.i = -1;
  std::erase_if(form.attributes, [](const Attribute& a) {
    return a.name == "axis";
  });
  form.attributes.push_back(last);
}

std::optional<Tensor> moved_tensor(Arena& arena, const Moved& row,
                                   const Attribute& a, DataType dtype) {
  switch (row.as) {
    case MovedAs::kInts:
      return ints(arena, a.ints);
    case MovedAs::kInt:
      return ints(arena, {&a.i, 1});
    case MovedAs::kFloat:
      return scalar(arena, a.f, DataType::kFloat);
    case MovedAs::kScalar:
      return scalar(arena, a.f, dtype);
  }
  return std::nullopt;
}

}  // namespace

Upgrades::Upgrades(Graph& graph, std::int64_t opset)
    : graph_(&graph), opset_(opset) {}

bool Upgrades::needed(OpId id) const {
  if (id.index() >= needed_.size()) {
    needed_.resize(graph_->model().ops.size());
  }
  std::uint8_t& known = needed_[id.index()];
  if (known == 0) {
    const Op& op = graph_->model().ops[id];
    const bool moved = std::ranges::any_of(kMoved, [&](const Moved& row) {
      return row.type == op.type && opset_ < row.since;
    });
    const bool softmax = opset_ < kSoftmaxOnAxis && is_softmax_like(op.type);
    const bool legacy = opset_ < kBroadcasts && once_explicit(op.type);
    known = op.domain.empty() && (moved || softmax || legacy) ? 2 : 1;
  }
  return known == 2;
}

ValueId Upgrades::hidden(NodeId node, int input, const Tensor& tensor,
                         const void* data) {
  auto& [value, from] = hidden_[{node, input}];
  if (value && from == data) return value;
  value = graph_->add_value(Name(), Graph::main_block(),
                            ValueKind::kInitializer);
  graph_->mutable_value(value).tensor =
      graph_->model().arena.make<Tensor>(tensor);
  from = data;
  return value;
}

void Upgrades::view(NodeId node, Facts& facts, NewestForm& form) {
  form = {};
  for (const Operand& use : graph_->inputs(node)) {
    form.inputs.push_back(use.value);
  }
  const auto attributes = graph_->node(node).attributes;
  form.attributes.assign(attributes.begin(), attributes.end());
  const std::string_view type = graph_->op(node).type;
  const ValueId first = graph_->input(node, 0);
  if (opset_ < kSoftmaxOnAxis && is_softmax_like(type)) {
    upgrade_softmax(first, facts, form);
  }
  if (opset_ < kBroadcasts && find(form.attributes, "axis") != nullptr &&
      once_explicit(type)) {
    form.readable = false;
  }
  for (const Moved& row : kMoved) {
    if (row.type != type || opset_ >= row.since) continue;
    const Attribute* a = find(attributes, row.attribute);
    if (a == nullptr) continue;
    auto tensor = moved_tensor(graph_->model().arena, row, *a,
                               element_type(facts, first));
    if (!tensor) {
      form.readable = false;
      continue;
    }
    const auto slot = static_cast<std::size_t>(row.input);
    if (form.inputs.size() <= slot) form.inputs.resize(slot + 1);
    form.inputs[slot] = hidden(node, row.input, *tensor, a);
    std::erase_if(form.attributes, [&](const Attribute& old) {
      return old.name == row.attribute;
    });
  }
}

}  // namespace ruleengine::ir
