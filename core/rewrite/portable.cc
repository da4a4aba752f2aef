#include "core/rewrite/portable.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/analysis/inference.h"
#include "core/analysis/order.h"
#include "core/ir/op_facts.h"
#include "core/rewrite/body.h"
#include "core/rewrite/schema.h"
#include "core/rewrite/variant.h"
#include "core/rewrite/workspace.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using Mask = AttentionVariant::Mask;

constexpr std::int64_t kOverloadIrVersion = 10;
constexpr std::int64_t kOldestOpset = 11;

// --- Attention -------------------------------------------------------------

// Key heads, each repeated for the query heads that share it.
ValueId repeat_heads(Body& body, ValueId x, const AttentionVariant& v,
                     std::int64_t own, std::string_view name) {
  if (own == 0) return x;
  std::vector<std::int64_t> which(static_cast<std::size_t>(v.heads));
  for (std::size_t i = 0; i < which.size(); ++i) {
    which[i] = static_cast<std::int64_t>(i) / (v.heads / own);
  }
  return body.node("Gather", {x, body.integers(which, "heads")}, name,
                   {Body::integer("axis", v.rank - 3)});
}

// The factor of the scores, put on the smaller side so that float16 does not
// overflow before it is scaled.
ValueId scaled(Body& body, ValueId q, const AttentionVariant& v) {
  if (v.scale || v.scale_size > 0) {
    const double size = static_cast<double>(v.scale_size);
    const float scale =
        v.scale ? *v.scale : static_cast<float>(1.0 / std::sqrt(size));
    if (scale == 1.0f) return q;
    return body.node("Mul", {q, body.number(scale, "scale")}, "scaled_Q");
  }
  const ValueId shape = body.node("Shape", {q}, "shape");
  const ValueId last = body.integers({v.rank - 1}, "last");
  const ValueId size = body.node("Gather", {shape, last}, "size");
  const ValueId real =
      body.node("Cast", {size}, "size_float",
                {Body::integer("to", std::int64_t(ir::DataType::kFloat))});
  const ValueId root = body.node("Sqrt", {real}, "root");
  const ValueId divisor =
      body.opset() >= 15
          ? body.node("CastLike", {root, q}, "divisor")
          : body.node("Cast", {root}, "divisor",
                      {Body::integer("to", std::int64_t(v.elem))});
  return body.node("Div", {q, divisor}, "scaled_Q");
}

// true where the key is not behind the query; [S, L].
ValueId causal_mask(Body& body, ValueId q, ValueId k,
                    const AttentionVariant& v) {
  const ValueId axis = body.integers({v.rank - 2}, "length_axis", true);
  const ValueId zero = body.integers({0}, "zero", true);
  const ValueId one = body.integers({1}, "one", true);
  const auto range = [&](ValueId x, std::string_view name) {
    const ValueId shape = body.node("Shape", {x}, "shape");
    const ValueId length = body.node("Gather", {shape, axis}, "length");
    return body.node("Range", {zero, length, one}, name);
  };
  const ValueId column = body.integers({-1, 1}, "column");
  const ValueId query =
      body.node("Reshape", {range(q, "query_places"), column}, "query_column");
  const ValueId behind =
      body.node("Greater", {range(k, "key_places"), query}, "behind");
  return body.node("Not", {behind}, "visible");
}

// softcap * tanh(s / softcap)
ValueId capped(Body& body, ValueId s, float softcap) {
  if (softcap == 0) return s;
  const ValueId cap = body.number(softcap, "softcap");
  const ValueId part = body.node("Div", {s, cap}, "scores_of_cap");
  const ValueId bent = body.node("Tanh", {part}, "scores_bent");
  return body.node("Mul", {bent, cap}, "capped_scores");
}

struct AttentionInputs {
  ValueId q, k, v, mask;
};

ValueId masked(Body& body, ValueId s, const AttentionVariant& v,
               const AttentionInputs& in) {
  ValueId never;
  if (v.causal || v.mask == Mask::kBool) {
    never = body.number(-std::numeric_limits<float>::infinity(), "never");
  }
  if (v.causal) {
    const ValueId visible = causal_mask(body, in.q, in.k, v);
    s = body.node("Where", {visible, s, never}, "causal_scores");
  }
  if (v.mask == Mask::kBool) {
    s = body.node("Where", {in.mask, s, never}, "masked_scores");
  } else if (v.mask == Mask::kAdded) {
    s = body.node("Add", {s, in.mask}, "masked_scores");
  }
  return s;
}

ValueId softmax(Body& body, ValueId s, const AttentionVariant& v) {
  const ValueId p = body.node("Softmax", {s}, "probabilities",
                              {Body::integer("axis", v.rank - 1)});
  // A query that sees no key at all gives zeros: by a mask, or by scores that
  // overflowed.
  const ValueId none = body.node("IsNaN", {p}, "sees_nothing");
  return body.node("Where", {none, body.number(0, "nothing"), p}, "weights");
}

ValueId swap_last(Body& body, ValueId x, std::int64_t rank) {
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return body.node("Transpose", {x}, "keys_transposed",
                   {body.ints("perm", perm)});
}

void write_attention(Body& body, const AttentionVariant& v,
                     std::span<const std::string_view> formals,
                     std::string_view result,
                     std::span<const ir::Attribute> call) {
  AttentionInputs in;
  in.q = body.input(formals[0]);
  in.k = body.input(formals[1]);
  in.v = body.input(formals[2]);
  if (v.mask != Mask::kNone) in.mask = body.input(formals[3]);
  body.set_float_type(v.elem, in.q);
  const ValueId k = repeat_heads(body, in.k, v, v.key_heads, "all_keys");
  const ValueId values =
      repeat_heads(body, in.v, v, v.value_heads, "all_values");
  const ValueId keys = swap_last(body, k, v.rank);
  ValueId s = body.node("MatMul", {scaled(body, in.q, v), keys}, "scores");
  s = masked(body, capped(body, s, v.softcap), v, in);
  const ValueId p = softmax(body, s, v);
  body.finish({body.node("MatMul", {p, values}, result)}, call);
}

// --- Projections -----------------------------------------------------------

std::vector<ir::Attribute> split_attributes(const Body& body, std::int64_t axis,
                                            std::int64_t parts) {
  std::vector<ir::Attribute> out = {Body::integer("axis", axis)};
  if (body.opset() >= 18) out.push_back(Body::integer("num_outputs", parts));
  return out;
}

ValueId linear(Body& body, ValueId x, ValueId weight, ValueId bias,
               std::string_view name) {
  const ValueId w = body.node("Transpose", {weight}, "weight_transposed",
                              {body.ints("perm", {1, 0})});
  if (!bias) return body.node("MatMul", {x, w}, name);
  return body.node("Add", {body.node("MatMul", {x, w}, "product"), bias}, name);
}

void write_projection(Body& body, const ProjectionVariant& v,
                      std::span<const ir::Attribute> call) {
  const ValueId sources[] = {body.input("query"), body.input("key"),
                             body.input("value")};
  const ValueId weight = body.input("weight");
  const ValueId bias = v.has_bias ? body.input("bias") : ValueId();
  std::vector<ValueId> flat;
  if (v.is_self) {
    const ValueId all = linear(body, sources[0], weight, bias, "packed");
    flat = body.nodes("Split", {all}, {"flat_q", "flat_k", "flat_v"},
                      split_attributes(body, 2, 3));
  } else {
    const auto weights = body.nodes("Split", {weight}, {"w_q", "w_k", "w_v"},
                                    split_attributes(body, 0, 3));
    std::vector<ValueId> biases(3);
    if (bias) {
      biases = body.nodes("Split", {bias}, {"b_q", "b_k", "b_v"},
                          split_attributes(body, 0, 3));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      flat.push_back(linear(body, sources[i], weights[i], biases[i], "flat"));
    }
  }
  const ValueId shape =
      body.integers({0, 0, v.heads, v.head_dim}, "heads_shape");
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < 3; ++i) {
    static constexpr std::string_view kNames[] = {"q", "k", "v"};
    const ValueId split = body.node("Reshape", {flat[i], shape}, "split_heads");
    outputs.push_back(body.node("Transpose", {split}, kNames[i],
                                {body.ints("perm", {0, 2, 1, 3})}));
  }
  body.finish(outputs, call);
}

void write_linear(Body& body, bool has_bias,
                  std::span<const ir::Attribute> call) {
  const ValueId x = body.input("x");
  const ValueId weight = body.input("weight");
  const ValueId bias = has_bias ? body.input("bias") : ValueId();
  body.finish({linear(body, x, weight, bias, "Y")}, call);
}

// --- Calls -----------------------------------------------------------------

bool made_by_rule(const ir::Node& node) {
  return std::ranges::find(node.metadata, "ruleengine.rule",
                           &ir::Metadata::key) != node.metadata.end();
}

constexpr std::string_view kUpper[] = {"Q", "K", "V", "attn_mask"};
constexpr std::string_view kForward[] = {"q", "k", "v", "attention_mask"};
constexpr std::string_view kAten[] = {"q", "k", "v", "attn_mask"};

class Writer {
 public:
  Writer(ir::Model& model, ir::Graph& graph)
      : model_(model),
        graph_(graph),
        opset_(Workspace(graph).opset("")),
        facts_(graph) {}

  Status run(std::span<const NodeId> more) {
    for (NodeId n : more) {
      if (Status s = check(n); !s) return s;
    }
    const auto order = analysis::topological_order(graph_);
    if (!order) return order.error();
    std::vector<NodeId> calls;
    for (NodeId n : *order) {
      const ir::Op& op = graph_.op(n);
      if (!has_body(op) || model_.find_function(op) != nullptr) continue;
      if (made_by_rule(graph_.node(n)) || std::ranges::binary_search(more, n)) {
        calls.push_back(n);
      }
    }
    if (calls.empty()) return {};
    if (opset_ < kOldestOpset) return too_old();
    model_.ir_version = std::max(model_.ir_version, kOverloadIrVersion);
    for (NodeId n : calls) write(n);
    return {};
  }

 private:
  // No rule's edit saw to it.
  Status check(NodeId node) const {
    const ir::Op& op = graph_.op(node);
    const auto attributes = graph_.node(node).attributes;
    NodeSpec spec{.domain = op.domain,
                  .type = op.type,
                  .attributes = {attributes.begin(), attributes.end()}};
    for (const ir::Operand& use : graph_.inputs(node)) {
      spec.inputs.push_back(use.value);
    }
    spec.output_count = static_cast<std::uint32_t>(graph_.outputs(node).size());
    auto made = checked(model_, spec);
    if (made) return {};
    Diagnostic error = made.error();
    error.where = graph_.describe(node);
    return error;
  }

  Diagnostic too_old() const {
    return {.kind = ErrorKind::kModel,
            .what = "the opset is too old for the bodies of fused ops",
            .where = model_.path,
            .expected = "opset " + std::to_string(kOldestOpset) + " or newer",
            .found = "opset " + std::to_string(opset_)};
  }

  // The op of the variant; a body for it is still to be written when `is_new`.
  ir::Op overload(NodeId node, std::string name, bool& is_new) {
    if (opset_ != model_.opset("")) name += "_opset" + std::to_string(opset_);
    const ir::Op plain = graph_.op(node);
    const ir::OpId id = model_.ops.intern(plain.domain, plain.type, name);
    graph_.mutable_node(node).op = id;
    is_new = model_.find_function(model_.ops[id]) == nullptr;
    return model_.ops[id];
  }

  void write(NodeId node) {
    const ir::Op op = graph_.op(node);
    const auto call = graph_.node(node).attributes;
    bool is_new = false;
    if (op.type == "Linear") {
      const bool has_bias = graph_.input(node, 2).valid();
      const ir::Op own = overload(node, has_bias ? "bias" : "plain", is_new);
      if (!is_new) return;
      Body body(model_, own, opset_);
      write_linear(body, has_bias, call);
    } else if (op.type == "MHAInProjection") {
      const ProjectionVariant v = projection_variant(graph_, node);
      const ir::Op own = overload(node, v.name(), is_new);
      if (!is_new) return;
      Body body(model_, own, opset_);
      write_projection(body, v, call);
    } else {
      const AttentionVariant v = attention_variant(graph_, facts_, node);
      const ir::Op own = overload(node, v.name(opset_), is_new);
      if (!is_new) return;
      Body body(model_, own, opset_);
      const auto formals = op.type == "AttentionForward" ? std::span(kForward)
                           : op.domain == "aten"         ? std::span(kAten)
                                                         : std::span(kUpper);
      const std::string_view result =
          op.type == "ScaledDotProductAttention" ? "Y" : "output";
      write_attention(body, v, formals, result, call);
    }
  }

  ir::Model& model_;
  ir::Graph& graph_;
  std::int64_t opset_;
  analysis::Inference facts_;
};

}  // namespace

bool has_body(const ir::Op& op) {
  static constexpr std::string_view kOwn[] = {"AttentionForward", "Linear",
                                              "MHAInProjection",
                                              "ScaledDotProductAttention"};
  return op.is("aten", "scaled_dot_product_attention") ||
         (op.domain == "ruleengine" &&
          std::ranges::find(kOwn, op.type) != std::end(kOwn));
}

bool is_dialect_function(const ir::Function& function) {
  static constexpr std::string_view kDomains[] = {"aten", "ruleengine",
                                                  "tensor_cast"};
  return std::ranges::find(kDomains, function.domain) != std::end(kDomains) &&
         ir::newest_op(function.domain, function.name) != nullptr;
}

Status write_portable(ir::Model& model, std::span<const NodeId> more) {
  std::vector<ir::Graph*> graphs = {&model.graph};
  for (const auto& f : model.functions) {
    if (!f->removed && !is_dialect_function(*f)) graphs.push_back(&f->body);
  }
  for (ir::Graph* graph : graphs) {
    const bool main = graph == &model.graph;
    Status s =
        Writer(model, *graph).run(main ? more : std::span<const NodeId>());
    if (!s) return s;
  }
  return {};
}

}  // namespace ruleengine::rewrite
