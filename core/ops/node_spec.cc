#include "core/ops/node_spec.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <numeric>
#include <string>

#include "core/base/suggest.h"

namespace ruleengine::ops {
namespace {

using ir::Attribute;
using ir::AttributeKind;

Diagnostic wrong(const NodeSpec& spec, std::string what) {
  return {.kind = ErrorKind::kRule,
          .what = ir::Op{spec.domain, spec.type, {}}.text() + " " +
                  std::move(what)};
}

Diagnostic unknown_op(const NodeSpec& spec) {
  Diagnostic d{
      .kind = ErrorKind::kRule,
      .what = "no op '" + ir::Op{spec.domain, spec.type, {}}.text() + "'"};
  d.hint = did_you_mean(similar_ops(spec.domain, spec.type));
  return d;
}

// Converts numbers to floats where the schema expects floats.
void coerce(AttributeKind kind, Arena& arena, Attribute& a) {
  if (kind == AttributeKind::kFloat && a.kind == AttributeKind::kInt) {
    a.f = static_cast<float>(a.i);
    a.kind = kind;
  } else if (kind == AttributeKind::kFloats && a.kind == AttributeKind::kInts) {
    const auto floats = arena.array<float>(a.ints.size());
    std::ranges::transform(a.ints, floats.begin(), [](std::int64_t i) {
      return static_cast<float>(i);
    });
    a.floats = floats;
    a.ints = {};
    a.kind = kind;
  } else if (kind == AttributeKind::kStrings &&
             a.kind == AttributeKind::kInts && a.ints.empty()) {
    a.kind = kind;
  }
}

// Names must not forge lines in files and messages.
Status check_names(const NodeSpec& spec) {
  const auto is_odd = [](std::string_view name) {
    return std::ranges::any_of(
        name, [](unsigned char c) { return c < ' ' || c == 127; });
  };
  const char* odd = nullptr;
  if (spec.type.empty()) odd = "the type of a new node is empty";
  if (is_odd(spec.domain)) odd = "a domain contains a control character";
  if (is_odd(spec.type))
    odd = "the type of a new node contains a control character";
  for (const Attribute& a : spec.attributes) {
    if (is_odd(a.name))
      odd = "the name of an attribute contains a control character";
  }
  if (odd == nullptr) return {};
  return Diagnostic{
      .kind = ErrorKind::kRule,
      .what = odd,
      .found = printable(ir::Op{spec.domain, spec.type, {}}.text())};
}

// Checks a call of a model-local function against its signature.
Status check_call(const NodeSpec& spec, const ir::Function& function) {
  const auto too_many = [&](const char* what, std::size_t most,
                            std::size_t found) {
    Diagnostic d = wrong(spec, std::string("is given too many ") + what);
    d.expected = "at most " + std::to_string(most);
    d.found = std::to_string(found);
    return d;
  };
  if (spec.inputs.size() > function.inputs.size()) {
    return too_many("inputs", function.inputs.size(), spec.inputs.size());
  }
  if (spec.output_count > function.outputs.size()) {
    return too_many("outputs", function.outputs.size(), spec.output_count);
  }
  return {};
}

// Checks that required inputs are given and that there are not too many.
Status check_inputs(const NodeSpec& spec, const OpFacts& op) {
  const auto count = static_cast<int>(spec.inputs.size());
  if (count > op.max_inputs) {
    Diagnostic d = wrong(spec, "is given too many inputs");
    d.expected = "at most " + std::to_string(op.max_inputs);
    if (!op.attributes.empty()) {
      d.hint = "attributes are named, for instance " +
               std::string(op.attributes[0].name) + " = ...";
    }
    d.found = std::to_string(count);
    return d;
  }
  for (int i = 0; i < std::max(count, op.min_inputs); ++i) {
    const FormalValue* formal = op.input(static_cast<std::size_t>(i));
    const bool present = i < count && spec.inputs[static_cast<std::size_t>(i)];
    const bool may_lack =
        formal != nullptr &&
        (formal->arity == Arity::kOptional ||
         (formal->arity == Arity::kVariadic && i >= op.min_inputs));
    if (present || may_lack) continue;
    const std::string name(formal == nullptr ? "" : formal->name);
    return wrong(spec, "lacks its input " + std::to_string(i + 1) +
                           (name.empty() ? "" : " '" + name + "'"));
  }
  return {};
}

Status check_outputs(const NodeSpec& spec, const OpFacts& op) {
  const int count = spec.output_count > INT_MAX
                        ? INT_MAX
                        : static_cast<int>(spec.output_count);
  if (count >= op.min_outputs && count <= op.max_outputs) return {};
  Diagnostic d = wrong(spec, "cannot have that many outputs");
  d.expected = std::to_string(op.min_outputs);
  if (op.max_outputs != op.min_outputs) {
    d.expected += op.max_outputs == INT_MAX
                      ? " or more"
                      : " to " + std::to_string(op.max_outputs);
  }
  d.found = std::to_string(count);
  return d;
}

Status check_attributes(NodeSpec& spec, const OpFacts& op, Arena& arena) {
  for (Attribute& a : spec.attributes) {
    const FormalAttribute* formal = op.attribute(a.name);
    if (formal == nullptr) {
      Diagnostic d =
          wrong(spec, "has no attribute '" + printable(a.name, 80) + "'");
      d.hint = attribute_hint(op, a.name);
      return d;
    }
    if (!a.ref.empty()) continue;
    coerce(formal->kind, arena, a);
    if (a.kind == formal->kind) continue;
    Diagnostic d = wrong(
        spec, "has the wrong kind of attribute '" + std::string(a.name) + "'");
    d.expected = ir::kind_text(formal->kind);
    d.found = ir::kind_text(a.kind);
    return d;
  }
  for (const FormalAttribute& formal : op.attributes) {
    if (!formal.required) continue;
    const auto it =
        std::ranges::find(spec.attributes, formal.name, &Attribute::name);
    if (it == spec.attributes.end()) {
      return wrong(spec,
                   "lacks its attribute '" + std::string(formal.name) + "'");
    }
  }
  return {};
}

}  // namespace

const OpFacts* facts_of(const ir::Graph& graph, ir::NodeId node) {
  const ir::Op& op = graph.op(node);
  return find_op(op.domain, op.type, static_cast<int>(graph.opset(op.domain)));
}

NodeSpec spec_of(const ir::Graph& graph, ir::NodeId node) {
  const ir::Op& op = graph.op(node);
  const auto attributes = graph.node(node).attributes;
  NodeSpec spec{.domain = op.domain,
                .type = op.type,
                .attributes = {attributes.begin(), attributes.end()}};
  for (const ir::Operand& use : graph.inputs(node)) {
    spec.inputs.push_back(use.value);
  }
  spec.output_count = static_cast<std::uint32_t>(graph.outputs(node).size());
  return spec;
}

Result<NodeSpec> checked(ir::Model& model, const NodeSpec& given) {
  NodeSpec spec = given;
  if (auto s = check_names(spec); !s) return s.error();
  if (spec.domain == "ai.onnx") spec.domain = {};
  if (spec.output_count > kMaxOutputs) {
    return wrong(spec, "cannot have that many outputs");
  }
  while (!spec.inputs.empty() && !spec.inputs.back()) spec.inputs.pop_back();
  std::ranges::sort(spec.attributes, {}, &Attribute::name);
  const auto twice =
      std::ranges::adjacent_find(spec.attributes, {}, &Attribute::name);
  if (twice != spec.attributes.end()) {
    return wrong(spec, "is given '" + printable(twice->name, 80) + "' twice");
  }
  if (const auto* f = model.find_function({spec.domain, spec.type, {}})) {
    if (auto s = check_call(spec, *f); !s) return s.error();
    return spec;
  }
  if (!known_domain(spec.domain)) return spec;
  const OpFacts* op = newest_op(spec.domain, spec.type);
  if (op == nullptr) return unknown_op(spec);
  if (auto s = check_inputs(spec, *op); !s) return s.error();
  if (auto s = check_outputs(spec, *op); !s) return s.error();
  if (auto s = check_attributes(spec, *op, model.arena); !s) return s.error();
  return spec;
}

bool is_default(const FormalAttribute& formal, const Attribute& a) {
  if (!formal.has_default || a.kind != formal.kind || !a.ref.empty()) {
    return false;
  }
  const auto bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
  switch (a.kind) {
    case AttributeKind::kFloat:
      return bits(a.f) == bits(formal.default_float);
    case AttributeKind::kInt:
      return a.i == formal.default_int;
    case AttributeKind::kString:
      return a.s == formal.default_string;
    case AttributeKind::kFloats:
      return std::ranges::equal(a.floats, formal.default_floats, {}, bits,
                                bits);
    case AttributeKind::kInts:
      return std::ranges::equal(a.ints, formal.default_ints);
    case AttributeKind::kStrings:
      return std::ranges::equal(a.strings, formal.default_strings);
    default:
      return false;
  }
}

void drop_defaults(const OpFacts& op, std::vector<Attribute>& all) {
  std::erase_if(all, [&](const Attribute& a) {
    const FormalAttribute* formal = op.attribute(a.name);
    return formal != nullptr && !formal->required && is_default(*formal, a);
  });
}

}  // namespace ruleengine::ops
