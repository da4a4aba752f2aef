#include "core/rewrite/portable.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ir/order.h"
#include "core/ops/op_facts.h"
#include "core/rewrite/bodies/attention_body.h"
#include "core/rewrite/bodies/body.h"
#include "core/rewrite/bodies/variant.h"
#include "core/rewrite/bodies/window_body.h"
#include "core/rewrite/edits/schema.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/functions.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr std::int64_t kOverloadIrVersion = 10;

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

void say_projection(Body& body, const ProjectionVariant& v,
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

void say_linear(Body& body, bool has_bias,
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

// By domain and type: the variant that has the op's name to itself.
using Plain =
    std::map<std::pair<std::string_view, std::string_view>, std::string>;

class Writer {
 public:
  Writer(ir::Model& model, ir::Graph& graph, Plain& plain)
      : model_(model),
        graph_(graph),
        plain_(plain),
        opset_(Workspace(graph).opset("")),
        facts_(graph) {}

  // All graphs are looked at before any is written.
  Status look(std::span<const NodeId> more) {
    for (NodeId n : more) {
      if (Status s = check(n); !s) return s;
    }
    const auto order = ir::topological_order(graph_);
    if (!order) return order.error();
    for (NodeId n : *order) {
      const ir::Op& op = graph_.op(n);
      if (!has_body(op) || model_.find_function(op) != nullptr) continue;
      if (made_by_rule(graph_.node(n)) || std::ranges::binary_search(more, n)) {
        calls_.push_back(n);
      }
    }
    if (!calls_.empty() && opset_ < kOldestOpset) return too_old();
    return {};
  }

  void write() {
    if (calls_.empty()) return;
    model_.ir_version = std::max(model_.ir_version, kOverloadIrVersion);
    for (NodeId n : calls_) write(n);
  }

 private:
  // By the table below.
  void write(NodeId node);

  // For nodes that no edit made: an edit checks what it builds.
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
    const ir::Op op = graph_.op(node);
    const ir::OpId id = &graph_ == &model_.graph
                            ? model_.ops.intern(op.domain, op.type, name)
                            : name_in_function(op, name);
    graph_.mutable_node(node).op = id;
    is_new = model_.find_function(model_.ops[id]) == nullptr;
    return model_.ops[id];
  }

  // ONNX Runtime (1.31) finds no overload that the body of a function calls. So
  // one variant there has the op's name, and others have names of their own.
  ir::OpId name_in_function(const ir::Op& op, const std::string& variant) {
    const auto [at, added] = plain_.try_emplace({op.domain, op.type}, variant);
    if (added && model_.find_function({op.domain, op.type, {}}) != nullptr) {
      at->second.clear();  // the file has one, of whatever variant
    }
    if (at->second == variant) return model_.ops.intern(op.domain, op.type, {});
    return model_.ops.intern(op.domain, std::string(op.type) + "_" + variant,
                             {});
  }

  // Makes the node a call of the variant, and says that by `say` where it is
  // the first.
  template <class Say>
  void write(NodeId node, std::string variant, const Say& say) {
    const auto call = graph_.node(node).attributes;
    const ir::Op op = graph_.op(node);
    bool is_new = false;
    const ir::Op own = overload(node, std::move(variant), is_new);
    if (!is_new) return;
    Body body(model_, own, opset_);
    say(body, op, call);
  }
  using Call = std::span<const ir::Attribute>;

  void write_linear(NodeId node) {
    const bool has_bias = graph_.input(node, 2).valid();
    write(node, has_bias ? "bias" : "plain",
          [&](Body& body, const ir::Op&, Call call) {
            say_linear(body, has_bias, call);
          });
  }

  void write_projection(NodeId node) {
    const ProjectionVariant v = projection_variant(graph_, node);
    write(node, v.name(), [&](Body& body, const ir::Op&, Call call) {
      say_projection(body, v, call);
    });
  }

  void write_attention(NodeId node) {
    const AttentionVariant v = attention_variant(graph_, facts_, node);
    write(node, v.name(opset_), [&](Body& body, const ir::Op& op, Call call) {
      const ir::OpFacts& facts = *ir::newest_op(op.domain, op.type);
      std::vector<std::string_view> formals;
      for (std::size_t i = 0; i < 4; ++i) {  // q, k, v, a mask
        formals.push_back(facts.input(i)->name);
      }
      rewrite::write_attention(body, v, formals, facts.output(0)->name, call);
    });
  }

  void write_window(NodeId node) {
    const auto v = window_variant(graph_, facts_, node);
    if (!v) return;
    write(node, v->name(opset_), [&](Body& body, const ir::Op& op, Call call) {
      write_window_op(body, op, *v, call);
    });
  }

  friend struct Bodies;

  ir::Model& model_;
  ir::Graph& graph_;
  Plain& plain_;
  std::int64_t opset_;
  analysis::Inference facts_;
  std::vector<NodeId> calls_;
};

// Who has a body, and what writes it.
struct Bodies {
  std::string_view domain, type;
  void (Writer::*write)(NodeId);

  static const Bodies* find(const ir::Op& op) {
    static constexpr Bodies kAll[] = {
        {"aten", "scaled_dot_product_attention", &Writer::write_attention},
        {"ruleengine", "AttentionForward", &Writer::write_attention},
        {"ruleengine", "Linear", &Writer::write_linear},
        {"ruleengine", "MHAInProjection", &Writer::write_projection},
        {"ruleengine", "RelativePositionBias", &Writer::write_window},
        {"ruleengine", "ScaledDotProductAttention", &Writer::write_attention},
        {"ruleengine", "SwinAttention", &Writer::write_window},
        {"ruleengine", "SwinWindowPartition", &Writer::write_window},
        {"ruleengine", "SwinWindowReverse", &Writer::write_window},
    };
    const auto at = std::ranges::find_if(kAll, [&](const Bodies& each) {
      return op.is(each.domain, each.type);
    });
    return at == std::end(kAll) ? nullptr : at;
  }
};

void Writer::write(NodeId node) {
  if (const Bodies* body = Bodies::find(graph_.op(node))) {
    (this->*body->write)(node);
  }
}

}  // namespace

bool has_body(const ir::Op& op) { return Bodies::find(op) != nullptr; }

Status write_portable(ir::Model& model, std::span<const NodeId> more) {
  Plain plain;
  std::vector<std::unique_ptr<Writer>> writers;
  for (ir::Graph* graph : rewritable_graphs(model)) {
    writers.push_back(std::make_unique<Writer>(model, *graph, plain));
    const bool main = graph == &model.graph;
    Status s = writers.back()->look(main ? more : std::span<const NodeId>());
    if (!s) return s;
  }
  for (const auto& each : writers) each->write();
  return {};
}

}  // namespace ruleengine::rewrite
