#include "core/rewrite/bodies/variant.h"

#include <fmt/format.h>

#include "core/ir/model.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::Type;
using ir::ValueId;

std::int64_t int_of(const ir::Graph& graph, NodeId node, std::string_view name,
                    std::int64_t fallback) {
  const ir::Attribute* a = graph.attribute(node, name);
  return a == nullptr ? fallback : a->i;
}

// No size that is meant is above; products of two stay whole.
constexpr std::int64_t kMostSize = std::int64_t{1} << 30;

// Two numbers, of which none is below `least`.
std::optional<std::array<std::int64_t, 2>> pair_of(const ir::Graph& graph,
                                                   NodeId node,
                                                   std::string_view name,
                                                   std::int64_t least) {
  const ir::Attribute* a = graph.attribute(node, name);
  if (a == nullptr || a->ints.size() != 2) return std::nullopt;
  for (std::int64_t size : a->ints) {
    if (size < least || size > kMostSize) return std::nullopt;
  }
  return std::array{a->ints[0], a->ints[1]};
}

std::optional<float> float_of(const ir::Graph& graph, NodeId node,
                              std::string_view name) {
  const ir::Attribute* a = graph.attribute(node, name);
  return a == nullptr ? std::nullopt : std::optional<float>(a->f);
}

const Type* ranked(ir::Facts& facts, ValueId value) {
  const Type* type = value ? facts.type(value) : nullptr;
  return type != nullptr && type->is_tensor() && type->has_shape ? type
                                                                 : nullptr;
}

// A known size of the axis `from_end` places from the end; 0 when unknown.
std::int64_t size_of(ir::Facts& facts, ValueId value, std::size_t from_end) {
  const Type* type = ranked(facts, value);
  if (type == nullptr || type->rank() < from_end) return 0;
  const ir::Dim d = type->dims[type->rank() - from_end];
  return d.known() ? d.size() : 0;
}

// Shortest text that reads back as the same float.
std::string text(float value) { return fmt::format("{}", value); }

}  // namespace

AttentionVariant attention_variant(const ir::Graph& graph, ir::Facts& facts,
                                   NodeId node) {
  using Mask = AttentionVariant::Mask;
  AttentionVariant out;
  const ValueId q = graph.input(node, 0);
  if (const ValueId mask = graph.input(node, 3)) {
    const Type* type = facts.type(mask);
    const bool is_bool = type != nullptr && type->elem == ir::DataType::kBool;
    out.mask = is_bool ? Mask::kBool : Mask::kAdded;
  }
  out.causal = int_of(graph, node, "is_causal", 0) != 0;
  out.scale = float_of(graph, node, "scale");
  if (!out.scale) out.scale = float_of(graph, node, "sm_scale");
  if (!out.scale) out.scale_size = size_of(facts, q, 1);
  out.softcap = float_of(graph, node, "softcap").value_or(0.0f);
  if (const Type* type = ranked(facts, q); type != nullptr) {
    if (type->rank() >= 2) out.rank = static_cast<std::int64_t>(type->rank());
  }
  if (const Type* type = facts.type(q);
      type != nullptr && ir::is_float(type->elem)) {
    out.elem = type->elem;
  }
  const std::int64_t heads =
      int_of(graph, node, "num_heads", size_of(facts, q, 3));
  const auto fewer = [&](std::size_t input) {
    const std::int64_t own = size_of(facts, graph.input(node, input), 3);
    return own > 0 && heads > own && heads % own == 0 ? own : 0;
  };
  out.key_heads = fewer(1);
  out.value_heads = fewer(2);
  if (out.key_heads != 0 || out.value_heads != 0) out.heads = heads;
  return out;
}

std::string AttentionVariant::name(std::int64_t opset) const {
  std::string out;
  const auto add = [&](const std::string& part) {
    out += (out.empty() ? "" : "_") + part;
  };
  if (mask == Mask::kBool) add("bool_mask");
  if (mask == Mask::kAdded) add("mask");
  if (causal) add("causal");
  if (scale) add("scale" + text(*scale));
  if (scale_size > 0) add(fmt::format("d{}", scale_size));
  if (softcap != 0) add("softcap" + text(softcap));
  if (heads != 0) {
    add(fmt::format("h{}k{}v{}", heads, key_heads, value_heads));
  }
  if (rank != 4) add(fmt::format("rank{}", rank));
  if (opset < 15) add(std::string(ir::data_type_name(elem)));
  return out.empty() ? "plain" : out;
}

ProjectionVariant projection_variant(const ir::Graph& graph, NodeId node) {
  const ValueId q = graph.input(node, 0);
  return {.is_self = graph.input(node, 1) == q && graph.input(node, 2) == q,
          .has_bias = graph.input(node, 4).valid(),
          .heads = int_of(graph, node, "num_heads", 0),
          .head_dim = int_of(graph, node, "head_dim", 0)};
}

std::string ProjectionVariant::name() const {
  return fmt::format("{}{}h{}d{}", is_self ? "self_" : "",
                     has_bias ? "bias_" : "", heads, head_dim);
}

std::optional<WindowVariant> window_variant(const ir::Graph& graph,
                                            ir::Facts& facts, NodeId node) {
  WindowVariant out;
  const auto side = pair_of(graph, node, "window_size", 1);
  if (!side) return std::nullopt;
  out.side = *side;
  const std::string_view type = graph.op(node).type;
  NodeId partition = node;
  if (type == "SwinAttention" || type == "SwinWindowReverse") {
    const ValueId spatial = graph.input(node, type == "SwinAttention" ? 5 : 1);
    partition = graph.producer(spatial);
  }
  if (type != "RelativePositionBias") {
    out.shifted = !partition ||
                  !graph.op(partition).is("ruleengine", "SwinWindowPartition");
  }
  if (partition && graph.attribute(partition, "shift_size") != nullptr) {
    const auto shift = pair_of(graph, partition, "shift_size", 0);
    if (!shift) return std::nullopt;
    out.shifted = (*shift)[0] != 0 || (*shift)[1] != 0;
    if (partition == node) out.shift = *shift;
  }
  if (type != "SwinAttention") return out;
  out.heads = int_of(graph, node, "num_heads", 0);
  out.head_dim = int_of(graph, node, "head_dim", 0);
  for (std::int64_t size : {out.heads, out.head_dim}) {
    if (size <= 0 || size > kMostSize) return std::nullopt;
  }
  if (const Type* elem = facts.type(graph.input(node, 0));
      elem != nullptr && ir::is_float(elem->elem)) {
    out.elem = elem->elem;
  }
  return out;
}

std::string WindowVariant::name(std::int64_t opset) const {
  std::string out = fmt::format("w{}x{}", side[0], side[1]);
  if (shift[0] != 0 || shift[1] != 0) {
    out += fmt::format("_s{}x{}", shift[0], shift[1]);
  } else if (shifted) {
    out += "_shifted";
  }
  if (heads != 0) {
    out += fmt::format("_h{}d{}", heads, head_dim);
    if (opset < 15) out += "_" + std::string(ir::data_type_name(elem));
  }
  return out;
}

}  // namespace ruleengine::rewrite
