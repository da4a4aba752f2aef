#include "core/rewrite/portable.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/analysis/inference.h"
#include "core/ir/order.h"
#include "core/ops/call_site.h"
#include "core/ops/function_body.h"
#include "core/ops/node_spec.h"
#include "core/ops/op_facts.h"
#include "core/ops/op_row.h"
#include "core/rewrite/driver.h"
#include "core/rewrite/edit.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/inline.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;

// The functions that this run writes.
struct Names {
  // By domain and type: the variant that has the op's name to itself.
  std::map<std::pair<std::string_view, std::string_view>, std::string> plain;
  std::set<ir::OpId> added;
};

bool gets_body(const ir::Op& op, bool foreign) {
  return has_body(op) ||
         (foreign && ops::meaning_of(op.domain, op.type) != nullptr);
}

class Writer {
 public:
  Writer(ir::Model& model, ir::Graph& graph, const PortableOptions& options,
         Names& names)
      : model_(model),
        graph_(graph),
        overloads_(options.overloads),
        foreign_(options.foreign),
        names_(names),
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
      if (!gets_body(op, foreign_) || model_.find_function(op) != nullptr)
        continue;
      if (made_by_rule(graph_.node(n)) || std::ranges::binary_search(more, n)) {
        calls_.push_back(n);
      }
    }
    if (!calls_.empty() && opset_ < kOldestOpset) return too_old();
    return {};
  }

  void write(std::vector<Bare>& bare) {
    for (NodeId n : calls_) {
      if (auto reason = write(n)) {
        bare.push_back({node_label(graph_, n), *std::move(reason)});
      }
    }
  }

 private:
  // For nodes that no edit made: an edit checks what it builds.
  Status check(NodeId node) const {
    auto made = ops::checked(model_, ops::spec_of(graph_, node));
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

  // Makes the node a call of its variant, which gets a function where it is the
  // first call; or says why not.
  std::optional<std::string> write(NodeId node) {
    const ops::FunctionBody body(graph_, facts_, node, opset_);
    if (const auto& refusal = body.refusal()) return refusal->text();
    const ir::OpId own = overload(node, body.variant());
    if (model_.find_function(model_.ops[own]) == nullptr) {
      const Status added = body.add_to(model_, model_.ops[own]);
      if (!added) return added.error().what + ": " + added.error().found;
      names_.added.insert(own);
    }
    model_.ir_version =
        std::max(model_.ir_version,
                 overloads_ ? kOverloadIrVersion : kFunctionIrVersion);
    graph_.mutable_node(node).op = own;
    return std::nullopt;
  }

  // The op of the variant. A function that the file has under that name may be
  // another one, so only those of this run are shared.
  ir::OpId overload(NodeId node, std::string name) {
    if (opset_ != model_.opset("")) name += "_opset" + std::to_string(opset_);
    const ir::Op op = graph_.op(node);
    for (int i = 1;; ++i) {
      const std::string own = i == 1 ? name : name + "_" + std::to_string(i);
      const ir::OpId id = overloads_ && &graph_ == &model_.graph
                              ? model_.ops.intern(op.domain, op.type, own)
                              : name_of_its_own(op, own);
      if (model_.find_function(model_.ops[id]) == nullptr ||
          names_.added.contains(id)) {
        return id;
      }
    }
  }

  // ONNX Runtime (1.31) finds no overload that the body of a function calls. So
  // one variant there has the op's name, and others have names of their own.
  ir::OpId name_of_its_own(const ir::Op& op, const std::string& variant) {
    const auto [at, added] =
        names_.plain.try_emplace({op.domain, op.type}, variant);
    if (added && model_.find_function({op.domain, op.type, {}}) != nullptr) {
      at->second.clear();  // the file has one, of whatever variant
    }
    if (at->second == variant) return model_.ops.intern(op.domain, op.type, {});
    return model_.ops.intern(op.domain, std::string(op.type) + "_" + variant,
                             {});
  }

  ir::Model& model_;
  ir::Graph& graph_;
  bool overloads_, foreign_;
  Names& names_;
  std::int64_t opset_;
  analysis::Inference facts_;
  std::vector<NodeId> calls_;
};

// Writes bodies in the place of the calls, in one graph.
class InlineWriter {
 public:
  InlineWriter(ir::Graph& graph, bool foreign)
      : graph_(graph), foreign_(foreign), workspace_(graph), facts_(graph) {}

  Status write(std::vector<Bare>& bare) {
    const auto order = ir::number_nodes(graph_);
    if (!order) return order.error();
    std::vector<NodeId> calls(order->rbegin(), order->rend());
    while (!calls.empty()) {
      const NodeId node = calls.back();
      calls.pop_back();
      if (graph_.node(node).removed || !gets_body(graph_.op(node), foreign_) ||
          !made_by_rule(graph_.node(node))) {
        continue;
      }
      Edit edit(graph_, facts_, {.rule = "lowering/ours", .from = {&node, 1}},
                &workspace_);
      edit.set_block(graph_.node(node).block);
      const auto rejection = inline_at(edit, node);
      if (!rejection) return rejection.error();
      if (*rejection) {
        bare.push_back({node_label(graph_, node), (*rejection)->reason});
        continue;
      }
      // Bodies may call other ops of ours.
      for (NodeId n : edit.added()) calls.push_back(n);
    }
    return {};
  }

 private:
  Result<std::optional<Rejection>> inline_at(Edit& edit, NodeId node) {
    auto built = inline_call(edit, node);
    if (!built) return built.error();
    if (auto* rejection = std::get_if<Rejection>(&*built)) {
      return std::optional(std::move(*rejection));
    }
    const auto& made = std::get<std::vector<ir::ValueId>>(*built);
    for (std::uint32_t i = 0; i < graph_.outputs(node).size(); ++i) {
      const ir::ValueId old = graph_.output(node, i);
      if (old && i < made.size()) edit.replace(old, made[i]);
    }
    edit.remove_dead({&node, 1});
    return edit.commit();
  }

  ir::Graph& graph_;
  bool foreign_;
  Workspace workspace_;
  analysis::Inference facts_;
};

}  // namespace

bool made_by_rule(const ir::Node& node) {
  return std::ranges::find(node.metadata, "ruleengine.rule",
                           &ir::Metadata::key) != node.metadata.end();
}

bool has_body(const ir::Op& op) {
  return ops::is_own_domain(op.domain) &&
         ops::meaning_of(op.domain, op.type) != nullptr;
}

Result<std::vector<Bare>> write_portable(ir::Model& model,
                                         const PortableOptions& options) {
  Names names;
  std::vector<std::unique_ptr<Writer>> writers;
  for (ir::Graph* graph : rewritable_graphs(model)) {
    writers.push_back(std::make_unique<Writer>(model, *graph, options, names));
    const bool main = graph == &model.graph;
    Status s =
        writers.back()->look(main ? options.more : std::span<const NodeId>());
    if (!s) return s.error();
  }
  std::vector<Bare> bare;
  for (const auto& each : writers) each->write(bare);
  return bare;
}

Result<std::vector<Bare>> write_inline(ir::Model& model, bool foreign) {
  std::vector<Bare> bare;
  for (ir::Graph* graph : rewritable_graphs(model)) {
    if (Status s = InlineWriter(*graph, foreign).write(bare); !s)
      return s.error();
  }
  return bare;
}

}  // namespace ruleengine::rewrite
