// A side of a cut as a model of its own.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/diagnostic.h"
#include "core/ir/small_tensor.h"
#include "core/rewrite/cut.h"
#include "core/rewrite/portable.h"
#include "core/rewrite/region/reads.h"

namespace ruleengine::rewrite {
namespace {

using ir::BlockId;
using ir::NodeId;
using ir::ValueId;
using Side = Region::Side;

// Copies nodes of one graph into a graph of another model.
class Transfer {
 public:
  using Input = std::function<ValueId(NodeId, std::size_t)>;
  using Nodes = std::function<std::vector<NodeId>(BlockId)>;
  using Outputs = std::function<std::vector<ValueId>(BlockId)>;

  // What a node reads, the nodes of a body in computation order, and what it
  // gives.
  Transfer(const ir::Graph& from, ir::Graph& to, Input input, Nodes nodes,
           Outputs outputs, const Cut* cut = nullptr)
      : from_(from),
        to_(to),
        model_(to.model()),
        input_(std::move(input)),
        nodes_(std::move(nodes)),
        outputs_(std::move(outputs)),
        cut_(cut) {}

  // Why it could not be copied; "" where it was.
  const std::string& why_not() const { return why_not_; }

  void add_input(ValueId v, const ir::Type* type) {
    const ValueId made = add_value(v, main(), ir::ValueKind::kInput);
    to_.add_block_input(main(), made);
    to_.mutable_value(made).declared = type;
  }

  void add_known(ValueId v, const ir::Literal* tensor) {
    const ValueId made = add_value(v, main(), ir::ValueKind::kInitializer);
    to_.add_initializer(made, tensor);
  }

  void add_node(NodeId node) { add_node(node, main()); }

  // An output of this name that is equal to the value.
  void add_output(ValueId v, Name name) {
    const ValueId equal =
        to_.add_value(name, main(), ir::ValueKind::kNodeOutput);
    const ValueId value = now(v);
    to_.add_node(model_.ops.intern("", "Identity"), main(), "", {&value, 1},
                 {&equal, 1}, {});
    to_.add_block_output(main(), equal);
  }

  // All of a function's body.
  void add_all() {
    for (const ValueId v : from_.block(main()).inputs) {
      add_input(v, from_.value(v).declared);
    }
    for (const NodeId n : nodes_(main())) add_node(n, main());
    for (const ValueId v : outputs_(main())) {
      to_.add_block_output(main(), now(v));
    }
  }

  const std::vector<const ir::Function*>& called() const { return called_; }

 private:
  static BlockId main() { return ir::Graph::main_block(); }

  void refuse(std::string why) {
    if (why_not_.empty()) why_not_ = std::move(why);
  }

  // The value's own name, unless another has it.
  ValueId add_value(ValueId v, BlockId block, ir::ValueKind kind) {
    const std::string_view own = from_.name(v);
    return values_[v] = to_.add_value(free_name(own.empty() ? "value" : own),
                                      block, kind);
  }

  Name free_name(std::string_view stem) {
    std::string name(stem);
    while (model_.names.find(name)) {
      name = fmt::format("{}_{}", stem, ++named_);
    }
    return model_.names.intern(name);
  }

  ValueId now(ValueId v) {
    if (!v) return {};
    if (const auto it = values_.find(v); it != values_.end()) return it->second;
    const ir::Value& value = from_.value(v);
    if (value.tensor != nullptr && cut_ != nullptr &&
        is_made_of_inputs(*value.tensor, *cut_)) {
      return values_[v] = put_together(*value.tensor);
    }
    if (value.tensor == nullptr) {
      refuse("what value '" + printable(from_.name(v)) + "' is, is not known");
      return {};
    }
    add_known(v, value.tensor);
    return values_[v];
  }

  // The weight as a computation on inputs.
  ValueId put_together(const ir::Literal& weight) {
    const auto input = cut_->weights.find(&weight);
    if (input != cut_->weights.end()) return now(input->second);
    const ir::Lazy& lazy = *weight.lazy;
    std::vector<ValueId> parts;
    for (const ir::LazyPart& part : lazy.parts) {
      ValueId value = put_together(*part.tensor);
      if (part.transpose) value = build("Transpose", {value}, {});
      if (part.is_cut()) {
        value =
            build("Slice",
                  {value, numbers({part.begin}),
                   numbers({part.begin + part.count}), numbers({lazy.axis})},
                  {});
      }
      parts.push_back(value);
    }
    const ir::Attribute axis{
        .name = "axis", .kind = ir::AttributeKind::kInt, .i = lazy.axis};
    const ValueId joined =
        parts.size() > 1 ? build("Concat", parts, {&axis, 1}) : parts[0];
    return build("Reshape", {joined, numbers(weight.dims)}, {});
  }

  ValueId numbers(std::span<const std::int64_t> all) {
    const ValueId made = fresh(ir::ValueKind::kInitializer);
    to_.add_initializer(made, model_.arena.make<ir::Literal>(
                                  ir::int64_vector(model_.arena, all)));
    return made;
  }
  ValueId numbers(std::initializer_list<std::int64_t> all) {
    return numbers(std::span(all.begin(), all.size()));
  }

  ValueId build(std::string_view type, const std::vector<ValueId>& inputs,
                std::span<const ir::Attribute> attributes) {
    const ValueId made = fresh(ir::ValueKind::kNodeOutput);
    to_.add_node(model_.ops.intern("", type), main(), "", inputs, {&made, 1},
                 model_.arena.copy(attributes));
    return made;
  }

  ValueId fresh(ir::ValueKind kind) {
    return to_.add_value(free_name("weight"), main(), kind);
  }

  void add_node(NodeId node, BlockId block) {
    const ir::Node& old = from_.node(node);
    const ir::Op& op = from_.op(node);
    if (const auto* function = from_.model().find_function(op)) {
      if (std::ranges::find(called_, function) == called_.end()) {
        called_.push_back(function);
      }
    }
    std::vector<ValueId> inputs, outputs;
    for (std::size_t i = 0; i < old.operand_count; ++i) {
      inputs.push_back(now(input_(node, i)));
    }
    std::vector<BlockId> bodies;
    const auto attributes = copy(old.attributes, block, bodies);
    for (const ValueId v : from_.outputs(node)) {
      outputs.push_back(v ? add_value(v, block, ir::ValueKind::kNodeOutput)
                          : ValueId());
      if (v)
        to_.mutable_value(outputs.back()).declared = from_.value(v).declared;
    }
    const NodeId made =
        to_.add_node(model_.ops.intern(op.domain, op.type, op.overload), block,
                     old.name, inputs, outputs, attributes);
    for (const BlockId body : bodies) to_.mutable_block(body).owner = made;
  }

  std::span<const ir::Attribute> copy(std::span<const ir::Attribute> old,
                                      BlockId block,
                                      std::vector<BlockId>& bodies) {
    if (from_.function() != nullptr && to_.function() == nullptr &&
        std::ranges::any_of(old,
                            [](const auto& a) { return !a.ref.empty(); })) {
      refuse("it depends on attributes of a function");
    }
    if (std::ranges::all_of(old,
                            [](const auto& a) { return a.blocks.empty(); })) {
      return old;
    }
    const auto all = model_.arena.copy(old);
    for (ir::Attribute& a : all) {
      if (a.blocks.empty()) continue;
      const std::size_t first = bodies.size();
      for (const BlockId body : a.blocks) bodies.push_back(copy(body, block));
      a.blocks =
          model_.arena.copy(std::span<const BlockId>(bodies).subspan(first));
      a.proto = {};
    }
    return all;
  }

  BlockId copy(BlockId body, BlockId parent) {
    const BlockId made = to_.add_block({}, parent, from_.block(body).name);
    for (const ValueId v : from_.block(body).inputs) {
      const ValueId input = add_value(v, made, ir::ValueKind::kInput);
      to_.mutable_value(input).declared = from_.value(v).declared;
      to_.add_block_input(made, input);
    }
    for (const NodeId n : nodes_(body)) add_node(n, made);
    for (const ValueId v : outputs_(body)) {
      to_.add_block_output(made, now(v));
    }
    return made;
  }

  const ir::Graph& from_;
  ir::Graph& to_;
  ir::Model& model_;
  Input input_;
  Nodes nodes_;
  Outputs outputs_;
  const Cut* cut_;  // nullptr: a function
  std::uint64_t named_ = 0;
  std::unordered_map<ValueId, ValueId> values_;
  std::vector<const ir::Function*> called_;
  std::string why_not_;
};

// Copies the functions that are called, and those that these call.
std::string add_functions(std::vector<const ir::Function*> called,
                          ir::Model& model) {
  for (std::size_t i = 0; i < called.size(); ++i) {
    const ir::Function& old = *called[i];
    auto made = std::make_unique<ir::Function>(model);
    made->domain = old.domain;
    made->name = old.name;
    made->overload = old.overload;
    made->inputs = old.inputs;
    made->outputs = old.outputs;
    made->attributes = old.attributes;
    made->attribute_defaults = old.attribute_defaults;
    made->opset_imports = old.opset_imports;
    const ir::Graph& from = old.body;
    Transfer transfer(
        from, made->body,
        [&](NodeId n, std::size_t k) { return from.input(n, k); },
        [&](BlockId b) {
          return nodes_of(from, b,
                          [&](NodeId n) { return !from.node(n).removed; });
        },
        [&](BlockId b) { return from.block(b).outputs; });
    transfer.add_all();
    if (!transfer.why_not().empty()) return transfer.why_not();
    for (const ir::Function* each : transfer.called()) {
      if (std::ranges::find(called, each) == called.end()) {
        called.push_back(each);
      }
    }
    model.functions.push_back(std::move(made));
  }
  return "";
}

const ir::Type* with_sizes(const ir::Type& type,
                           const std::map<ir::Dim, ir::Dim>& sizes,
                           Arena& arena) {
  if (sizes.empty()) return &type;
  ir::Type out = type;
  const auto dims = arena.copy(type.dims);
  for (ir::Dim& d : dims) {
    if (const auto it = sizes.find(d); it != sizes.end()) d = it->second;
  }
  out.dims = dims;
  return arena.make<ir::Type>(out);
}

}  // namespace

Result<std::shared_ptr<ir::Model>> model_of(const Region& region,
                                            const Cut& cut, Side side) {
  const ir::Graph& graph = region.graph;
  const ir::Model& whole = graph.model();
  const auto error = [](std::string why) {
    return Diagnostic{.kind = ErrorKind::kModel, .what = std::move(why)};
  };
  auto model = std::make_shared<ir::Model>();
  model->dims = ir::DimTable(whole.dims);
  model->ir_version = std::max(whole.ir_version, kOverloadIrVersion);
  for (const ir::OpsetImport& each : opsets_of(graph)) {
    model->opset_imports.push_back({each.domain, each.version});
  }
  model->external = whole.external;
  model->evaluator = whole.evaluator;
  Transfer transfer(
      graph, model->graph,
      [&](NodeId n, std::size_t i) { return region.input(n, i, side); },
      [&](BlockId b) {
        return nodes_of(graph, b,
                        [&](NodeId n) { return region.has(n, side); });
      },
      [&](BlockId b) { return region.outputs(b, side); }, &cut);
  std::vector<Name> outputs;
  for (std::size_t i = 0; i < region.results.size(); ++i) {
    std::string name(graph.name(region.results[i].before));
    while (name.empty() || model->names.find(name)) name += "'";
    outputs.push_back(model->names.intern(name));
  }
  for (const ValueId v : cut.inputs) {
    const ir::Type* const type = region.facts.type(v);
    if (!ir::is_ranked(type)) {
      return error("value '" + printable(graph.name(v)) +
                   "' is no tensor of known rank");
    }
    transfer.add_input(v, with_sizes(*type, cut.sizes, model->arena));
  }
  for (const auto& [v, elements] : cut.known) {
    const ir::Type& type = *region.facts.type(v);
    ir::Literal tensor =
        type.elem == ir::DataType::kInt64
            ? ir::int64_vector(model->arena, elements)
            : ir::vector_tensor(
                  model->arena, type.elem,
                  std::span<const std::int32_t>(std::vector<std::int32_t>(
                      elements.begin(), elements.end())));
    if (type.rank() == 0) tensor.dims = {};
    transfer.add_known(v, model->arena.make<ir::Literal>(tensor));
  }
  for (const NodeId n : side == Side::kBefore ? cut.before : cut.after) {
    transfer.add_node(n);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Region::Result& r = region.results[i];
    transfer.add_output(side == Side::kBefore ? r.before : r.after, outputs[i]);
  }
  if (!transfer.why_not().empty()) return error(transfer.why_not());
  if (auto why = add_functions(transfer.called(), *model); !why.empty()) {
    return error(std::move(why));
  }
  return model;
}

}  // namespace ruleengine::rewrite
