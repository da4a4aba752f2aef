#include "runtime/host_nodes.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "core/ir/order.h"
#include "core/ops/axis_flow.h"

namespace ruleengine::runtime {

using ir::ValueId;

class HostNodes::Pass {
 public:
  Pass(HostNodes& all, const Plan& plan, std::size_t depth)
      : all_(all),
        plan_(plan),
        graph_(*plan.graph),
        depth_(depth),
        order_(*ir::topological_order(graph_)),
        of_shapes_(graph_.value_count()),
        on_host_(graph_.value_count()),
        elsewhere_(graph_.value_count()) {
    for (const Step& step : plan.steps()) {
      if (step.function != nullptr) calls_[step.node] = step.function;
    }
  }

  Flow run(const Flags& of_shapes, const Flags& read) {
    const ir::Block& main = graph_.block(ir::Graph::main_block());
    set(of_shapes_, main.inputs, of_shapes);
    for (const ir::NodeId node : order_) go_forward(node);
    for (std::size_t b = 0; b < graph_.block_count(); ++b) {
      for (const ValueId v : graph_.block(ir::BlockId(b)).outputs) {
        if (v) elsewhere_[v.index()] = true;
      }
    }
    set(on_host_, main.outputs, read);
    Flags& hosts = all_.hosts_[&plan_];
    hosts.resize(graph_.node_count());
    for (const ir::NodeId node : std::views::reverse(order_)) {
      if (go_back(node)) hosts[node.index()] = true;
    }
    return {get(of_shapes_, main.outputs), get(on_host_, main.inputs)};
  }

 private:
  static void set(Flags& to, std::span<const ValueId> values,
                  const Flags& from) {
    for (std::size_t i = 0; i < std::min(values.size(), from.size()); ++i) {
      if (values[i] && from[i]) to[values[i].index()] = true;
    }
  }
  static Flags get(const Flags& from, std::span<const ValueId> values) {
    Flags out;
    for (const ValueId v : values) out.push_back(v && from[v.index()]);
    return out;
  }

  const Plan* call_of(ir::NodeId node) const {
    const auto found = calls_.find(node);
    return found == calls_.end() ? nullptr : found->second;
  }
  bool is_constant(ValueId v) const {
    return plan_.constant_of[v.index()] >= 0 &&
           graph_.value(v).kind != ir::ValueKind::kInput;
  }
  Flags inputs_of_shapes(ir::NodeId node) const {
    Flags out;
    for (const ir::Operand& o : graph_.inputs(node)) {
      out.push_back(o.value && of_shapes_[o.value.index()]);
    }
    return out;
  }

  void go_forward(ir::NodeId node) {
    if (const Plan* function = call_of(node)) {
      return set(of_shapes_, graph_.outputs(node),
                 all_.flow(*function, inputs_of_shapes(node), {}, depth_ + 1)
                     .outputs_of_shapes);
    }
    bool any = false, all = true;
    for (const ir::Operand& o : graph_.inputs(node)) {
      if (!o.value) continue;
      any = any || of_shapes_[o.value.index()];
      all = all && (of_shapes_[o.value.index()] || is_constant(o.value));
    }
    if (!ops::roles_of(graph_.op(node)).measures && !(any && all)) return;
    for (const ValueId v : graph_.outputs(node)) {
      if (v) of_shapes_[v.index()] = true;
    }
  }

  // Whether the node is computed on the host.
  bool go_back(ir::NodeId node) {
    const auto outputs = graph_.outputs(node);
    const auto inputs = graph_.inputs(node);
    if (const Plan* function = call_of(node)) {
      const Flow& flow = all_.flow(*function, inputs_of_shapes(node),
                                   get(on_host_, outputs), depth_ + 1);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool here = i < flow.inputs_read.size() && flow.inputs_read[i];
        if (inputs[i].value) mark(inputs[i].value, here);
      }
      return false;
    }
    const ir::Op& op = graph_.op(node);
    bool is_read = false, stays = true;
    for (const ValueId v : outputs) {
      if (!v) continue;
      is_read = is_read || on_host_[v.index()];
      stays = stays && (!elsewhere_[v.index()] || of_shapes_[v.index()]);
    }
    const bool is_here = is_read && stays;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_measured =
          ops::reads_type_only(op, i) || ops::roles_of(op).measures;
      if (!inputs[i].value || is_measured) continue;
      mark(inputs[i].value, is_here || all_.reads_on_host(op, i));
    }
    return is_here;
  }

  void mark(ValueId v, bool here) {
    (here ? on_host_ : elsewhere_)[v.index()] = true;
  }

  HostNodes& all_;
  const Plan& plan_;
  const ir::Graph& graph_;
  std::size_t depth_;
  std::vector<ir::NodeId> order_;
  Flags of_shapes_, on_host_, elsewhere_;  // by value
  std::map<ir::NodeId, const Plan*> calls_;
};

HostNodes::HostNodes(const Plans& plans, Backends devices)
    : devices_(std::move(devices)) {
  flow(plans.main(), {}, {}, 0);
}

bool HostNodes::contains(const Plan& plan, ir::NodeId node) const {
  const auto found = hosts_.find(&plan);
  return found != hosts_.end() && found->second[node.index()];
}

const HostNodes::Flow& HostNodes::flow(const Plan& plan, const Flags& of_shapes,
                                       const Flags& read, std::size_t depth) {
  const auto [at, is_new] = known_.try_emplace({&plan, of_shapes, read});
  if (is_new && depth <= kMostCalls) {
    at->second = Pass(*this, plan, depth).run(of_shapes, read);
  }
  return at->second;
}

bool HostNodes::reads_on_host(const ir::Op& op, std::size_t i) const {
  return std::ranges::any_of(devices_, [&](const Backend* each) {
    return has_input(each->host_inputs(op), i);
  });
}

}  // namespace ruleengine::runtime
