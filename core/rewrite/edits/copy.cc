// Copies of bodies: of If, Loop and Scan, and of functions of the model.
#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ops/op_facts.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::Attribute;
using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

constexpr int kDeepest = 64;  // bodies within bodies

class BodyCopy {
 public:
  BodyCopy(Edit& edit, EditState& state, const BodyCall& call)
      : edit_(edit),
        state_(state),
        call_(call),
        from_(call.from),
        is_own_(&call.from == &state.graph) {}

  Edit::Built run() {
    const auto inputs = from_.block(call_.body).inputs;
    const auto results = from_.block(call_.body).outputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      copies_[inputs[i]] =
          i < call_.inputs.size() ? call_.inputs[i] : ValueId();
    }
    std::vector<ValueId> outputs;
    block_ = call_.body;
    for (const ValueId v : results) outputs.push_back(copy(v));
    return finish(std::move(outputs));
  }

  Edit::Built run(const NodeCopy& part) {
    part_ = &part;
    NodeSpec spec = described(part.node, part.ports, part.attributes);
    // Also absent ones at the end, as there is one for each of the bodies.
    spec.output_count = static_cast<std::uint32_t>(
        staying_outputs(part.node, part.ports).size());
    std::vector<ValueId> outputs = build(part.node, part.ports, spec);
    return finish(std::move(outputs));
  }

 private:
  Edit::Built finish(std::vector<ValueId> outputs) {
    if (rejection_) return *std::move(rejection_);
    return outputs;
  }

  bool reject(std::string reason, std::string value) {
    if (!rejection_) rejection_ = {std::move(reason), std::move(value)};
    return false;
  }

  // The value in the place of `wanted`, with copies of the nodes of the block
  // that compute it. They may be many in a row, so this does not recur.
  ValueId copy(ValueId wanted) {
    std::vector<NodeId> todo;
    if (is_pending(wanted)) todo.push_back(from_.producer(wanted));
    while (!todo.empty() && !rejection_) {
      const NodeId node = todo.back();
      const std::size_t before = todo.size();
      for_each_read(node, [&](ValueId v) {
        if (is_pending(v)) todo.push_back(from_.producer(v));
      });
      if (todo.size() > before) continue;
      todo.pop_back();
      if (is_pending(first_output(node))) copy_node(node);
    }
    return now(wanted);
  }

  // Whether a node of the block that is being copied computes it, which is not
  // copied yet.
  bool is_pending(ValueId v) const {
    const NodeId node = from_.producer(v);
    return node && from_.node(node).block == block_ && !copies_.contains(v);
  }

  ValueId first_output(NodeId node) const {
    for (const ValueId v : from_.outputs(node)) {
      if (v) return v;
    }
    return {};
  }

  // The inputs of the node and what its bodies read.
  template <class Visit>
  void for_each_read(NodeId node, const Visit& visit) const {
    for (const ir::Operand& o : from_.inputs(node)) {
      if (o.value) visit(o.value);
    }
    for (const Attribute& a : from_.node(node).attributes) {
      for (const BlockId body : a.blocks) {
        for (const NodeId inner : from_.block(body).nodes) {
          if (!from_.node(inner).removed) for_each_read(inner, visit);
        }
        for (const ValueId v : from_.block(body).outputs) {
          if (v) visit(v);
        }
      }
    }
  }

  // What stands for the value where the copies are.
  ValueId now(ValueId v) {
    if (!v || rejection_) return {};
    if (const auto it = copies_.find(v); it != copies_.end()) return it->second;
    const ir::Value& value = from_.value(v);
    if (value.kind == ir::ValueKind::kInitializer &&
        (!is_own_ || value.block != ir::Graph::main_block())) {
      if (value.tensor == nullptr) {
        reject("a sparse constant of the body cannot move", name_of(v));
        return {};
      }
      return copies_[v] = edit_.constant(value.tensor, from_.name(v));
    }
    if (is_own_ && value.kind != ir::ValueKind::kUndefined) return v;
    reject("the body reads a value that is not defined", name_of(v));
    return {};
  }

  std::string name_of(ValueId v) const { return quoted_name(from_.name(v)); }

  void copy_node(NodeId node) {
    if (!fits_opset(from_.op(node))) return;
    const auto written = from_.node(node).attributes;
    if (is_own_) {
      // In a function, what refers to its attributes goes on to do so.
      build(node, {}, described(node, {}, written));
      return;
    }
    build(node, {},
          described(
              node, {},
              ir::bound_attributes(written, call_.attributes, call_.defaults)));
  }

  static bool stays(const std::vector<bool>& all, std::size_t i) {
    return i >= all.size() || all[i];
  }

  NodeSpec described(NodeId node, const Ports& ports,
                     std::span<const Attribute> attributes) {
    NodeSpec spec{.domain = from_.op(node).domain, .type = from_.op(node).type};
    const std::size_t input_count = from_.inputs(node).size();
    for (std::size_t i = 0; i < input_count; ++i) {
      if (stays(ports.inputs, i)) {
        spec.inputs.push_back(now(from_.input(node, i)));
      }
    }
    while (!spec.inputs.empty() && !spec.inputs.back()) spec.inputs.pop_back();
    spec.attributes.assign(attributes.begin(), attributes.end());
    std::uint32_t count = 0;
    const auto outputs = from_.outputs(node);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!stays(ports.outputs, i)) continue;
      ++count;
      if (outputs[i]) spec.output_count = count;
    }
    if (is_own_) spec.like = node;
    return spec;
  }

  // Copies the bodies, builds the copy of the node, and notes what is known of
  // it.
  std::vector<ValueId> build(NodeId node, const Ports& ports, NodeSpec spec) {
    std::vector<BlockId> bodies;
    for (Attribute& a : spec.attributes) {
      if (!a.blocks.empty() && !copy_bodies(a, bodies)) return {};
    }
    if (rejection_) return {};
    auto built = build_written(state_, spec, from_.node(node).op);
    if (const auto* rejected = std::get_if<Rejection>(&built)) {
      rejection_ = *rejected;
      return {};
    }
    const auto& made = std::get<std::vector<ValueId>>(built);
    for (const BlockId body : bodies) {
      state_.graph.mutable_block(body).owner = state_.graph.producer(made[0]);
    }
    const std::vector<ValueId> old = staying_outputs(node, ports);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!old[i]) continue;
      copies_[old[i]] = made[i];
      declare(old[i], made[i]);
    }
    note_names(node, old, made);
    return made;
  }

  std::vector<ValueId> staying_outputs(NodeId node, const Ports& ports) const {
    std::vector<ValueId> all;
    const auto outputs = from_.outputs(node);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (stays(ports.outputs, i)) all.push_back(outputs[i]);
    }
    return all;
  }

  // A function may be written for other opsets than the graph that calls it.
  bool fits_opset(const ir::Op& op) {
    const ir::Function* const function = from_.function();
    if (is_own_ || function == nullptr) return true;
    const ir::Model& model = state_.graph.model();
    const bool is_call = model.find_function(op) != nullptr;
    const std::int64_t there = function->opset_imports.version(op.domain);
    const std::int64_t here = state_.workspace->opset(op.domain);
    if (here == 0) {
      state_.workspace->import_opset(op.domain,
                                     std::max<std::int64_t>(there, 1));
    }
    if (is_call || here == 0 || here == there) return true;
    const auto version = [&](std::int64_t v) {
      return ops::find_op(op.domain, op.type, static_cast<int>(v));
    };
    const ops::OpFacts* const own = version(there);
    if (own != nullptr && own == version(here)) return true;
    return reject("the function is written for another opset",
                  op.text() + " of opset " + std::to_string(there) +
                      ", where the caller has " + std::to_string(here));
  }

  bool copy_bodies(Attribute& attribute, std::vector<BlockId>& bodies) {
    if (depth_ >= kDeepest) return reject("bodies are nested too deeply", "");
    const std::size_t first = bodies.size();
    for (const BlockId body : attribute.blocks) {
      bodies.push_back(copy_body(body));
    }
    attribute.blocks = state_.graph.model().arena.copy(
        std::span<const BlockId>(bodies).subspan(first));
    attribute.proto = {};
    return !rejection_;
  }

  BlockId copy_body(BlockId body) {
    const NodeCopy* const part = depth_ == 0 ? part_ : nullptr;
    const Ports ports = part == nullptr ? Ports() : part->bodies;
    const BlockId made = add_body(body, ports);
    const BlockId outer = std::exchange(block_, body);
    const BlockId outer_made = std::exchange(state_.block, made);
    ++depth_;
    const auto outputs = from_.block(body).outputs;
    std::vector<ValueId> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!stays(ports.outputs, i)) continue;
      const ValueId result = copy(outputs[i]);
      if (rejection_) break;
      results.push_back(as_output(result, outputs[i], results));
    }
    --depth_;
    block_ = outer;
    state_.block = outer_made;
    state_.log.give_outputs(made, results);
    for (std::uint32_t i = 0; i < results.size(); ++i) {
      state_.workspace->note_output(results[i], {made, i});
    }
    return made;
  }

  // A body with the inputs that stay. What reads one that goes reads another
  // value instead.
  BlockId add_body(BlockId body, const Ports& ports) {
    const auto inputs = from_.block(body).inputs;
    std::vector<ValueId> staying;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (stays(ports.inputs, i)) {
        staying.push_back(inputs[i]);
      } else {
        copies_[inputs[i]] = part_->instead[i];
      }
    }
    const BlockId made =
        state_.log.add_body(state_.block, from_.block(body).name,
                            static_cast<std::uint32_t>(staying.size()));
    for (std::size_t i = 0; i < staying.size(); ++i) {
      const ValueId input = state_.graph.block(made).inputs[i];
      copies_[staying[i]] = input;
      state_.graph.mutable_value(input).declared = declared(staying[i]);
      state_.copied_inputs.push_back(
          {input, from_node(from_.block(body).owner),
           call_.prefix + std::string(from_.name(staying[i]))});
    }
    return made;
  }

  // An output of a body is the output of a node in it, and is one output only.
  ValueId as_output(ValueId value, ValueId old,
                    const std::vector<ValueId>& others) {
    const ir::Value& v = state_.graph.value(value);
    if (v.kind == ir::ValueKind::kNodeOutput && v.block == state_.block &&
        std::ranges::find(others, value) == others.end()) {
      return value;
    }
    const ir::OpId op = state_.graph.model().ops.intern("", "Identity");
    const NodeId node = state_.add_node(op, state_.block, {&value, 1}, 1, {});
    declare(old, state_.graph.output(node));
    return state_.graph.output(node);
  }

  // Names of sizes in a function are its own.
  const ir::Type* declared(ValueId v) {
    const ir::Type* const type = from_.value(v).declared;
    if (type == nullptr || is_own_ || !type->is_tensor()) return type;
    ir::Model& model = state_.graph.model();
    const auto dims = model.arena.array<ir::Dim>(type->dims.size());
    std::ranges::transform(type->dims, dims.begin(), [&](ir::Dim d) {
      return d.known() ? d : model.dims.fresh();
    });
    ir::Type own = *type;
    own.dims = dims;
    return model.arena.make<ir::Type>(own);
  }

  void declare(ValueId old, ValueId made) {
    const ir::Type* const type = declared(old);
    const ir::Value& v = state_.graph.value(made);
    if (type == nullptr || v.declared != nullptr || !state_.is_new(made) ||
        v.kind != ir::ValueKind::kNodeOutput) {
      return;
    }
    state_.declare(made, type);
  }

  void note_names(NodeId node, const std::vector<ValueId>& outputs,
                  const std::vector<ValueId>& made) {
    const NodeId copy = state_.graph.producer(made[0]);
    if (!state_.is_new(copy)) return;
    Copied all{.node = copy, .from = from_node(node)};
    if (!from_.node(node).name.empty()) {
      all.name = call_.prefix + std::string(from_.node(node).name);
    }
    for (const ValueId v : outputs) {
      all.outputs.push_back(v ? call_.prefix + std::string(from_.name(v)) : "");
    }
    state_.copied.push_back(std::move(all));
  }

  NodeId from_node(NodeId node) const { return is_own_ ? node : NodeId(); }

  Edit& edit_;
  EditState& state_;
  const BodyCall& call_;
  const ir::Graph& from_;
  bool is_own_;    // a body of a node of the graph
  BlockId block_;  // whose nodes are being copied
  int depth_ = 0;
  const NodeCopy* part_ = nullptr;
  std::unordered_map<ValueId, ValueId> copies_;
  std::optional<Rejection> rejection_;
};

}  // namespace

Edit::Built Edit::copy_body(const BodyCall& call) {
  return BodyCopy(*this, *journal_, call).run();
}

Edit::Built Edit::copy_node(const NodeCopy& part) {
  const ir::Graph& graph = journal_->graph;
  const BodyCall here{.from = graph, .body = graph.node(part.node).block};
  return BodyCopy(*this, *journal_, here).run(part);
}

}  // namespace ruleengine::rewrite
