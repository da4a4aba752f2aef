// to_opset: the way back of core/ir/upgrade.h.

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/ir/model.h"
#include "core/ir/op_facts.h"
#include "core/ir/upgrade.h"
#include "core/ir/upgrade_table.h"

namespace ruleengine::ir {
namespace {

constexpr std::int64_t kMaxElements = 4096;

Diagnostic cannot(std::string_view type, std::int64_t opset,
                  std::string expected, std::string found) {
  return {ErrorKind::kRule,
          "opset " + std::to_string(opset) + " cannot say this " +
              std::string(type),
          "", std::move(expected), std::move(found), ""};
}

struct Writer {
  const Graph& graph;
  std::string_view type;
  std::int64_t opset;
  Facts& facts;
  OlderForm form;

  Arena& arena() const { return graph.model().arena; }
  Status move_input(const Moved& row);
  Status fix_softmax();
  Status fix_attributes(const OpFacts& then, const OpFacts* now);
};

std::optional<Attribute> moved_attribute(Arena& arena, const Moved& row,
                                         const Tensor& tensor,
                                         ExternalData* external) {
  Attribute a;
  a.name = row.attribute;
  if (row.as == MovedAs::kInts || row.as == MovedAs::kInt) {
    const auto values = to_ints(tensor, external, kMaxElements);
    if (!values || (row.as == MovedAs::kInt && values->size() != 1)) {
      return std::nullopt;
    }
    a.kind = row.as == MovedAs::kInt ? AttributeKind::kInt
                                     : AttributeKind::kInts;
    if (row.as == MovedAs::kInt) a.i = values->front();
    if (row.as == MovedAs::kInts) {
      a.ints = arena.copy(std::span<const std::int64_t>(*values));
    }
    return a;
  }
  const auto values = to_doubles(tensor, external, 1);
  if (!values || values->size() != 1) return std::nullopt;
  a.kind = AttributeKind::kFloat;
  a.f = static_cast<float>(values->front());
  return a;
}

Status Writer::move_input(const Moved& row) {
  const auto slot = static_cast<std::size_t>(row.input);
  if (slot >= form.inputs.size() || !form.inputs[slot]) return {};
  const Tensor* tensor = facts.constant(form.inputs[slot]);
  std::optional<Attribute> a;
  if (tensor != nullptr) {
    a = moved_attribute(arena(), row, *tensor, graph.model().external.get());
  }
  if (!a) {
    return cannot(type, opset,
                  "a constant, since '" + std::string(row.attribute) +
                      "' is an attribute before opset " +
                      std::to_string(row.since),
                  "value '" + std::string(graph.name(form.inputs[slot])) + "'");
  }
  form.inputs[slot] = ValueId();
  form.attributes.push_back(*a);
  return {};
}

Status Writer::fix_softmax() {
  const Type* input = form.inputs.empty() || !form.inputs[0]
                          ? nullptr
                          : facts.type(form.inputs[0]);
  if (input == nullptr || !input->has_shape) {
    return cannot(type, opset, "an input of known rank", "");
  }
  const auto rank = static_cast<std::int64_t>(input->rank());
  auto axis = std::ranges::find(form.attributes, "axis", &Attribute::name);
  if (axis == form.attributes.end()) {
    form.attributes.push_back({.name = "axis", .kind = AttributeKind::kInt,
                               .i = -1});
    axis = form.attributes.end() - 1;
  }
  if (axis->i != -1 && axis->i != rank - 1) {
    return cannot(type, opset, "the last axis", std::to_string(axis->i));
  }
  axis->i = rank - 1;
  axis->proto = {};
  return {};
}

bool is_default(const Attribute& a, const FormalAttribute& formal) {
  if (!formal.has_default || a.kind != formal.kind) return false;
  if (a.kind == AttributeKind::kInt) return a.i == formal.default_int;
  if (a.kind == AttributeKind::kFloat) return a.f == formal.default_float;
  if (a.kind == AttributeKind::kString) return a.s == formal.default_string;
  return false;
}

// Attributes that came later are left out at their default.
Status Writer::fix_attributes(const OpFacts& then, const OpFacts* now) {
  std::vector<Attribute> kept;
  for (const Attribute& a : form.attributes) {
    if (then.attribute(a.name) != nullptr) {
      kept.push_back(a);
      continue;
    }
    const FormalAttribute* formal =
        now == nullptr ? nullptr : now->attribute(a.name);
    if (formal == nullptr || !is_default(a, *formal)) {
      return cannot(type, opset, "an op without the attribute",
                    std::string(a.name));
    }
  }
  form.attributes = std::move(kept);
  return {};
}

}  // namespace

Result<OlderForm> to_opset(const Graph& graph, std::string_view domain,
                           std::string_view type, std::vector<ValueId> inputs,
                           std::vector<Attribute> attributes,
                           std::int64_t opset, Facts& facts) {
  Writer w{graph, type, opset, facts,
           {std::move(inputs), std::move(attributes)}};
  if (!known_domain(domain)) return std::move(w.form);
  const OpFacts* then = find_op(domain, type, static_cast<int>(opset));
  const OpFacts* now = newest_op(domain, type);
  if (then == nullptr || then->deprecated) {
    return cannot(type, opset, "an opset that has the op", "");
  }
  if (domain.empty()) {
    for (const Moved& row : kMoved) {
      if (row.type != type || opset >= row.since) continue;
      if (auto status = w.move_input(row); !status) return status.error();
    }
    if (opset < kSoftmaxOnAxis &&
        std::ranges::find(kSoftmaxLike, type) != kSoftmaxLike.end()) {
      if (auto status = w.fix_softmax(); !status) return status.error();
    }
  }
  while (!w.form.inputs.empty() && !w.form.inputs.back()) {
    w.form.inputs.pop_back();
  }
  if (w.form.inputs.size() > static_cast<std::size_t>(then->max_inputs)) {
    return cannot(type, opset,
                  "at most " + std::to_string(then->max_inputs) + " inputs",
                  std::to_string(w.form.inputs.size()));
  }
  if (auto status = w.fix_attributes(*then, now); !status) {
    return status.error();
  }
  return std::move(w.form);
}

}  // namespace ruleengine::ir
