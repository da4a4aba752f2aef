// rebuild: removes the nodes of a model and adds those of the code.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bindings/lua/code.h"
#include "bindings/lua/code/code_record.h"
#include "bindings/lua/load/rule_file_loader.h"
#include "core/ir/order.h"
#include "core/rewrite/portable.h"
#include "core/verify/verify.h"

namespace ruleengine::lua {
namespace {

constexpr std::size_t kMaxCode = std::size_t{64} << 20;

using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

class CodeBuilder {
 public:
  CodeBuilder(ir::Model& model, const CodeRecord& record,
              const std::string& file)
      : model_(model),
        graph_(model.graph),
        record_(record),
        file_(file),
        made_(record.values.size()) {}

  Result<std::vector<NodeId>> run() {
    if (Status s = take_out(); !s) return s.error();
    if (Status s = fill(0, ir::Graph::main_block()); !s) return s.error();
    model_.changed = true;
    return std::move(new_);
  }

 private:
  using Names = std::map<std::string_view, ValueId>;

  Diagnostic wrong(std::string what, int line, std::string found = {}) const {
    return {.kind = ErrorKind::kRule,
            .what = std::move(what),
            .where = fmt::format("{}:{}", file_, line),
            .found = std::move(found)};
  }

  // Removes all nodes. The values that they made keep their data.
  Status take_out() {
    auto order = ir::topological_order(graph_);
    if (!order) return order.error();
    names_.resize(graph_.block_count());
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ir::Value& value = graph_.value(ValueId(i));
      if (value.removed || !value.block) continue;
      names_[value.block.index()].emplace(graph_.name(ValueId(i)), ValueId(i));
    }
    for (auto it = order->rbegin(); it != order->rend(); ++it) {
      graph_.remove_node(*it);
    }
    return {};
  }

  Status fill(std::size_t index, BlockId id) {
    const CodeBlock& block = record_.blocks[index];
    graph_.mutable_block(id).changed = true;
    for (const CodeNode& node : block.nodes) {
      if (Status s = add(node, id); !s) return s;
    }
    const std::vector<ValueId> outputs = graph_.block(id).outputs;
    if (outputs.size() != block.outputs.size()) {
      Diagnostic error = wrong("`output` has the wrong number of values", 1,
                               std::to_string(block.outputs.size()));
      error.expected = std::to_string(outputs.size());
      return error;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      auto value = value_of(block.outputs[i], id);
      if (!value) return value.error();
      if (*value == outputs[i]) continue;
      Diagnostic error =
          wrong(fmt::format("output {} has another name in the model", i + 1),
                record_.values[block.outputs[i]].line,
                quoted_name(graph_.name(*value)));
      error.expected = quoted_name(graph_.name(outputs[i]));
      error.hint = "`names` maps a value to its name in the model";
      return error;
    }
    return {};
  }

  // --- values ---

  // The value with that name in a block or one around it.
  ValueId find(BlockId block, std::string_view name) const {
    for (; block; block = graph_.block(block).parent) {
      if (block.index() < names_.size()) {
        const Names& names = names_[block.index()];
        if (const auto at = names.find(name); at != names.end()) {
          return at->second;
        }
      }
      if (block == ir::Graph::main_block()) break;
    }
    return {};
  }

  Result<ValueId> value_of(std::size_t id, BlockId block) {
    if (id == kNoValue) return ValueId();
    if (made_[id]) return made_[id];
    const CodeValue& value = record_.values[id];
    if (value.absent) return wrong("an absent output is read", value.line);
    if (value.kind == CodeValue::Kind::kOutput) {
      return wrong("a value of another graph is read", value.line);
    }
    if (value.tensor != nullptr) return new_weight(id);
    const bool input = value.kind == CodeValue::Kind::kInput;
    const ValueId found = find(block, value.name);
    const auto kind =
        input ? ir::ValueKind::kInput : ir::ValueKind::kInitializer;
    if (!found || graph_.value(found).kind != kind) {
      Diagnostic error = wrong(
          fmt::format("the model has no {} '{}'", input ? "input" : "weight",
                      printable(value.name, 60)),
          value.line);
      if (!input) {
        error.hint =
            "code printed after rules ran names weights of those rules; "
            "write the result of the rules, and print the code of that";
      }
      return error;
    }
    return made_[id] = found;
  }

  // In the main graph, where every body sees it.
  Result<ValueId> new_weight(std::size_t id) {
    const CodeValue& value = record_.values[id];
    const BlockId main = ir::Graph::main_block();
    const ValueId old = find(main, value.name);
    if (old && !graph_.value(old).removed) {
      return wrong("a new weight has the name of a value of the model",
                   value.line, quoted_name(value.name, 60));
    }
    made_[id] = graph_.add_value(model_.names.intern(value.name), main,
                                 ir::ValueKind::kInitializer);
    graph_.add_initializer(made_[id], value.tensor);
    names_[main.index()].insert_or_assign(graph_.name(made_[id]), made_[id]);
    return made_[id];
  }

  // The existing value with that name, or a new one.
  Result<ValueId> output_of(std::size_t id, BlockId block) {
    const CodeValue& value = record_.values[id];
    if (value.absent) return ValueId();
    if (value.name.empty()) {
      const auto name = model_.unique_name("value");
      return made_[id] = graph_.add_value(model_.names.intern(name), block,
                                          ir::ValueKind::kNodeOutput);
    }
    Names& names = names_[block.index()];
    const auto at = names.find(value.name);
    if (at == names.end()) {
      const ValueId made = graph_.add_value(model_.names.intern(value.name),
                                            block, ir::ValueKind::kNodeOutput);
      names.emplace(graph_.name(made), made);
      return made_[id] = made;
    }
    ir::Value& old = graph_.mutable_value(at->second);
    if (!old.removed) {
      return wrong("two values have one name", value.line,
                   quoted_name(value.name, 60));
    }
    old.removed = false;
    old.producer = NodeId();
    return made_[id] = at->second;
  }

  // --- nodes ---

  // The node of the model that made the first of these values.
  NodeId stored_node(const CodeNode& node, BlockId block) const {
    for (const std::size_t id : node.outputs) {
      const CodeValue& value = record_.values[id];
      if (value.absent || value.name.empty()) continue;
      const Names& names = names_[block.index()];
      const auto at = names.find(value.name);
      return at == names.end() ? NodeId() : graph_.producer(at->second);
    }
    return {};
  }

  Status add(const CodeNode& node, BlockId block) {
    const NodeId stored = stored_node(node, block);
    std::vector<ir::Attribute> attributes;
    for (const CodeAttribute& each : node.attributes) {
      auto made = attribute(node, each, stored);
      if (!made) return made.error();
      attributes.push_back(*made);
    }
    restore_order(stored, attributes);
    std::vector<ValueId> inputs, outputs;
    for (const std::size_t id : node.inputs) {
      auto value = value_of(id, block);
      if (!value) return value.error();
      inputs.push_back(*value);
    }
    for (const std::size_t id : node.outputs) {
      auto value = output_of(id, block);
      if (!value) return value.error();
      outputs.push_back(*value);
    }
    const ir::OpId op =
        model_.ops.intern(node.domain, node.type, node.overload);
    const NodeId made = graph_.add_node(
        op, block, model_.arena.copy(std::string_view(node.name)), inputs,
        outputs, model_.arena.copy(std::span<const ir::Attribute>(attributes)));
    if (model_.opset(node.domain) == 0) model_.import_opset(node.domain, 1);
    for (const ir::Attribute& each : attributes) {
      for (const BlockId body : each.blocks) {
        graph_.mutable_block(body).owner = made;
      }
    }
    keep_rest(stored, made);
    const bool same = stored && graph_.node(stored).op == op;
    if (!same && rewrite::has_body(model_.ops[op])) new_.push_back(made);
    return {};
  }

  // In the order of the model, so that unchanged nodes are written unchanged.
  void restore_order(NodeId stored, std::vector<ir::Attribute>& list) const {
    if (!stored) return;
    const auto place = [&](const ir::Attribute& each) {
      const auto old = graph_.node(stored).attributes;
      return std::ranges::find(old, each.name, &ir::Attribute::name) -
             old.begin();
    };
    std::ranges::stable_sort(list, {}, place);
  }

  // Copies metadata and documentation, which code does not contain.
  void keep_rest(NodeId stored, NodeId made) {
    if (!stored || graph_.node(stored).op != graph_.node(made).op) return;
    graph_.mutable_node(made).extra = graph_.node(stored).extra;
    graph_.mutable_node(made).metadata = graph_.node(stored).metadata;
  }

  Result<ir::Attribute> attribute(const CodeNode& node,
                                  const CodeAttribute& said, NodeId stored) {
    const bool graph = said.value.kind == ir::AttributeKind::kGraph;
    if (!said.stored && !graph) return said.value;
    const ir::Attribute* old =
        stored ? graph_.attribute(stored, said.value.name) : nullptr;
    if (old == nullptr) {
      return wrong(
          fmt::format("the model has no '{}' for this {}",
                      printable(said.value.name, 60), printable(node.type, 60)),
          node.line);
    }
    if (!graph) {
      if (old->blocks.empty()) return *old;
      return wrong("a graph is `stored`", node.line);
    }
    if (old->kind != ir::AttributeKind::kGraph ||
        !filled_.insert(old->blocks[0]).second) {
      return wrong(
          fmt::format("the model has no graph '{}' for this {}",
                      printable(said.value.name, 60), printable(node.type, 60)),
          node.line);
    }
    if (Status s = fill(said.body, old->blocks[0]); !s) return s.error();
    ir::Attribute out = *old;
    out.proto = {};
    return out;
  }

  ir::Model& model_;
  ir::Graph& graph_;
  const CodeRecord& record_;
  const std::string& file_;
  std::vector<ValueId> made_;  // by index in the record
  std::vector<Names> names_;   // by block
  std::vector<NodeId> new_;    // that need a body
  std::set<BlockId> filled_;   // bodies that have nodes again
};

}  // namespace

Result<std::vector<ir::NodeId>> rebuild(ir::Model& model,
                                        const std::string& file,
                                        const SandboxLimits& limits) {
  auto code = RuleStore::read_file(file, kMaxCode);
  if (!code) return code.error();
  if (!*code) {
    return Diagnostic{.kind = ErrorKind::kRule,
                      .what = "the code cannot be read",
                      .where = file,
                      .found = "there is no such file"};
  }
  auto record = record_code(model, **code, file, limits);
  if (!record) return record.error();
  auto made = CodeBuilder(model, *record, file).run();
  if (!made) return made.error();
  if (auto order = ir::topological_order(model.graph); !order) {
    return order.error();
  }
  if (Status s = verify::check_model(model); !s) return s.error();
  return made;
}

}  // namespace ruleengine::lua
