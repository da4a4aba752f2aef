#include "core/ops/function_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/ops/call_site.h"
#include "core/ops/op_row.h"
#include "core/ops/upgrade.h"

namespace ruleengine::ops {
namespace {

using ir::ValueId;

// Bodies have tensors of numbers alone.
const ir::Literal* copy_of(Arena& arena, const ir::Literal& tensor) {
  ir::Literal copy = tensor;
  copy.dims = arena.copy(tensor.dims);
  copy.bytes = arena.copy(tensor.bytes);
  return arena.make<ir::Literal>(copy);
}

}  // namespace

FunctionBody::FunctionBody(const ir::Graph& host, ir::Facts& facts,
                           ir::NodeId call, std::int64_t opset, Use use)
    : FunctionBody(host, facts, call, opset,
                   *newest_op(host.op(call).domain, host.op(call).type),
                   meaning_of(host.op(call).domain, host.op(call).type), use) {}

FunctionBody::FunctionBody(const ir::Graph& host, ir::Facts& facts,
                           ir::NodeId call, std::int64_t opset,
                           const OpFacts& op, Meaning meaning, Use use)
    : host_(host),
      facts_(facts),
      call_(call),
      op_(op),
      input_count_(input_count(op, host, call)),
      opset_(opset),
      use_(use) {
  Values inputs;
  for (std::size_t i = 0; i < input_count_; ++i) {
    const ValueId own =
        i < op_.inputs.size()
            ? value(op_.inputs[i].name)
            : value(fmt::format("{}_{}", op_.inputs.back().name, i));
    inputs.push_back(host_.input(call_, i) ? own : ValueId());
  }
  refuse_surplus(*this, op_, host_, call_);
  if (use == Use::kFile) refuse_uncertain(*this, op_, host_, call_);
  // A call has as many outputs as its function.
  const std::size_t count = host_.outputs(call_).size();
  outputs_ = meaning(
      CallSite(*this, op_, std::move(inputs), host_.node(call_).attributes,
               outputs_of(host_, call_,
                          use == Use::kFile ? Wanted::kNamed : Wanted::kRead)));
  if (count < op_.outputs.size()) note(fmt::format("outputs{}", count));
  outputs_.resize(std::min(count, outputs_.size()));
  for (ValueId& each : outputs_) {
    // The function has an output for each of the call, though it has no name.
    if (!each) each = node("Identity", {outputs_[0]}, "unwanted");
  }
}

ValueId FunctionBody::value(std::string_view name) {
  names_.emplace_back(name);
  return ValueId(names_.size() - 1);
}

ValueId FunctionBody::host_value(ValueId value) const {
  const bool is_input = value && value.index() < input_count_;
  return is_input ? host_.input(call_, value.index()) : ValueId();
}

Body::Values FunctionBody::nodes(std::string_view type, Values inputs,
                                 const std::vector<std::string>& names,
                                 Attributes attributes) {
  Values outputs;
  for (const std::string& name : names) outputs.push_back(value(name));
  nodes_.push_back(
      {"", type, std::move(inputs), outputs, std::move(attributes)});
  return outputs;
}

Body::Values FunctionBody::call(std::string_view domain, std::string_view type,
                                Values inputs, Attributes attributes) {
  if (use_ == Use::kFile) {
    return write_meaning(*this, domain, type, std::move(inputs), attributes);
  }
  std::vector<std::string> names;
  for (const FormalValue& formal : newest_op(domain, type)->outputs) {
    names.emplace_back(formal.name);
  }
  Values outputs = nodes(type, std::move(inputs), names, std::move(attributes));
  nodes_.back().domain = domain;
  return outputs;
}

ValueId FunctionBody::constant(const ir::Literal& tensor,
                               std::string_view name) {
  const auto tensors = arena_.array<const ir::Literal*>(1);
  tensors[0] = arena_.make<ir::Literal>(tensor);
  return node("Constant", {}, name,
              {{.name = "value",
                .kind = ir::AttributeKind::kTensor,
                .tensors = tensors}});
}

const ir::Type* FunctionBody::type(ValueId value) {
  const ValueId given = host_value(value);
  return given ? facts_.type(given) : nullptr;
}

ir::NodeId FunctionBody::producer(ValueId value) {
  const ValueId given = host_value(value);
  return given ? host_.producer(given) : ir::NodeId();
}

std::string FunctionBody::describe(ValueId value) {
  const ValueId given = host_value(value);
  return given ? ir::describe(host_, facts_, given) : std::string();
}

void FunctionBody::set_rank(ValueId value, std::size_t rank) {
  ir::Type type{.elem = ir::DataType::kUndefined, .has_shape = true};
  type.dims = arena_.array<ir::Dim>(rank);
  types_[value] = arena_.make<ir::Type>(type);
}

void FunctionBody::note(const std::string& answer) {
  if (std::ranges::find(answers_, answer) == answers_.end()) {
    answers_.push_back(answer);
  }
}

std::string FunctionBody::variant() const {
  if (answers_.empty()) return "plain";
  return fmt::format("{}", fmt::join(answers_, "_"));
}

// What is known while nodes get their older form.
class FunctionBody::Known final : public ir::Facts {
 public:
  explicit Known(const FunctionBody& body) : types_(body.types_) {
    for (const Node& node : body.nodes_) {
      if (node.type == "Constant") {
        tensors_[node.outputs[0]] = node.attributes[0].tensors[0];
      }
    }
  }

  const ir::Type* type(ValueId value) override {
    const auto at = types_.find(value);
    return at == types_.end() ? nullptr : at->second;
  }
  bool is_constant(ValueId value) override { return tensors_.contains(value); }
  const ir::Literal* constant(ValueId value) override {
    const auto at = tensors_.find(value);
    return at == tensors_.end() ? nullptr : at->second;
  }
  std::optional<std::span<const ir::Dim>> dims_of(ValueId) override {
    return std::nullopt;
  }
  void invalidate(ir::NodeId) override {}
  std::vector<std::string> take_warnings() override { return {}; }

 private:
  const std::unordered_map<ValueId, const ir::Type*>& types_;
  std::unordered_map<ValueId, const ir::Literal*> tensors_;
};

class FunctionBody::Writer {
 public:
  Writer(const FunctionBody& body, ir::Model& model, const ir::Op& op)
      : body_(body),
        model_(model),
        function_(std::make_unique<ir::Function>(model)),
        nodes_(body.nodes_) {
    function_->domain = op.domain;
    function_->name = op.type;
    function_->overload = op.overload;
    function_->opset_imports = {{"", body.opset_}};
    for (const Node& node : nodes_) {
      auto& imports = function_->opset_imports;
      if (imports.find(node.domain) == imports.size()) {
        imports.push_back({.domain = std::string(node.domain), .version = 1});
      }
    }
  }

  Status write() {
    if (Status s = make_older(); !s) return s;
    remove_dead();
    add_inputs();
    for (const Node& node : nodes_) add_node(node);
    ir::Graph& graph = function_->body;
    for (ValueId v : body_.outputs_) {
      graph.add_block_output(ir::Graph::main_block(), values_.at(v));
      function_->outputs.push_back(graph.name(values_.at(v)));
    }
    declare_attributes();
    model_.functions.push_back(std::move(function_));
    model_.changed = true;
    return {};
  }

 private:
  Status make_older() {
    Known known(body_);
    for (Node& node : nodes_) {
      if (!node.domain.empty()) continue;
      auto older = to_opset(body_.host_, "", node.type, std::move(node.inputs),
                            std::move(node.attributes), body_.opset_, known);
      if (!older) {
        Diagnostic error = older.error();
        error.kind = ErrorKind::kModel;
        return error;
      }
      node.inputs = std::move(older->inputs);
      node.attributes = std::move(older->attributes);
    }
    return {};
  }

  void remove_dead() {
    std::unordered_set<ValueId> read(body_.outputs_.begin(),
                                     body_.outputs_.end());
    std::vector<Node> alive;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      const bool is_read = std::ranges::any_of(
          node->outputs, [&](ValueId v) { return read.contains(v); });
      if (!is_read) continue;
      read.insert(node->inputs.begin(), node->inputs.end());
      alive.push_back(std::move(*node));
    }
    nodes_.assign(std::make_move_iterator(alive.rbegin()),
                  std::make_move_iterator(alive.rend()));
  }

  // Up to the last that the call has.
  void add_inputs() {
    ir::Graph& graph = function_->body;
    std::size_t count = body_.input_count_;
    while (count > 0 && !body_.host_.input(body_.call_, count - 1)) --count;
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId v = declare(ValueId(i));
      graph.add_block_input(ir::Graph::main_block(), v);
      function_->inputs.push_back(graph.name(v));
    }
  }

  void add_node(const Node& node) {
    Values inputs, outputs;
    for (ValueId v : node.inputs) {
      inputs.push_back(v ? values_.at(v) : ValueId());
    }
    for (ValueId v : node.outputs) outputs.push_back(declare(v));
    Attributes attributes = node.attributes;
    for (ir::Attribute& a : attributes) {
      a.ints = model_.arena.copy(a.ints);
      if (a.tensors.empty()) continue;
      const auto tensors = model_.arena.array<const ir::Literal*>(1);
      tensors[0] = copy_of(model_.arena, *a.tensors[0]);
      a.tensors = tensors;
    }
    function_->body.add_node(
        model_.ops.intern(node.domain, node.type), ir::Graph::main_block(), {},
        inputs, outputs,
        model_.arena.copy(std::span<const ir::Attribute>(attributes)));
  }

  ValueId declare(ValueId value) {
    const std::string& name = body_.names_[value.index()];
    std::string unique = name;
    for (int i = 2; !taken_.insert(unique).second; ++i) {
      unique = name + "_" + std::to_string(i);
    }
    return values_[value] = function_->body.add_value(
               model_.names.intern(unique), ir::Graph::main_block(),
               ir::ValueKind::kUndefined);
  }

  // All that calls may carry, though the body refers to none.
  void declare_attributes() {
    for (const FormalAttribute& formal : body_.op_.attributes) {
      if (!formal.has_default) function_->attributes.push_back(formal.name);
    }
    const Attributes defaults = default_attributes(body_.op_);
    function_->attribute_defaults =
        model_.arena.copy(std::span<const ir::Attribute>(defaults));
  }

  const FunctionBody& body_;
  ir::Model& model_;
  std::unique_ptr<ir::Function> function_;
  std::vector<Node> nodes_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_set<std::string> taken_;
};

Status FunctionBody::add_to(ir::Model& model, const ir::Op& op) const {
  return Writer(*this, model, op).write();
}

}  // namespace ruleengine::ops
