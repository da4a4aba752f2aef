// The function that is the pattern of a draft, and the meaning of its op.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bindings/lua/code/code_literal.h"
#include "bindings/lua/draft/region.h"
#include "bindings/lua/words/words.h"
#include "core/ops/attribute_meaning.h"

namespace ruleengine::lua {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kExpressionWidth = 80;

// How a rule writes the value of an attribute; none if it cannot.
std::optional<std::string> attribute_text(const ir::Op& op,
                                          const ir::Attribute& attribute) {
  // In the table form of a node these names mean something else.
  const bool is_taken =
      attribute.name == "outputs" || attribute.name == "attrs";
  if (is_taken || attribute.kind == ir::AttributeKind::kTensor) {
    return std::nullopt;
  }
  const auto* row = ops::newest_op(op.domain, op.type);
  const auto* formal =
      row == nullptr ? nullptr : row->attribute(attribute.name);
  if (attribute.kind == ir::AttributeKind::kInt && formal != nullptr &&
      ops::names_element_type(attribute.name)) {
    return code_text(ir::data_type_name(ir::DataType(attribute.i)));
  }
  // Without a schema the number decides its kind.
  const ops::FormalAttribute same{.kind = attribute.kind};
  const auto text =
      code_attribute(attribute, formal == nullptr ? &same : formal, nullptr);
  const bool is_float = attribute.kind == ir::AttributeKind::kFloat ||
                        attribute.kind == ir::AttributeKind::kFloats;
  return text && formal == nullptr && is_float ? "float(" + *text + ")" : text;
}

class Writer {
 public:
  Writer(Region& region, bool literals)
      : region_(region),
        graph_(region.graph),
        newest_(region.newest),
        literals_(literals) {}

  std::string run() {
    std::string parameters = "op";
    for (const Source& each : region_.sources) {
      const bool is_literal = each.is_literal(literals_);
      if (!is_literal) append(parameters, each.name);
      expressions_[each.value] = is_literal ? each.literal : each.name;
    }
    for (const NodeId id : region_.selection.nodes) add(id);
    std::string results;
    for (const ValueId value : region_.selection.results) {
      append(results, expressions_.at(value));
    }
    return fmt::format("({})\n{}  return {}\n", parameters, statements_,
                       results);
  }

 private:
  void add(NodeId id) {
    std::string call = call_of(id);
    if (call.size() > kExpressionWidth) {
      for (std::size_t i = 0; i < newest_.input_count(id); ++i) {
        name_expression(newest_.input(id, i));
      }
      call = call_of(id);
    }
    const std::span<const ValueId> outputs = graph_.outputs(id);
    if (outputs.size() == 1 && reads_of(outputs[0]) <= 1) {
      expressions_[outputs[0]] = std::move(call);
      return;
    }
    std::string left;
    for (const ValueId value : outputs) {
      append(left, value ? region_.names.at(value) : "_");
      if (value) expressions_[value] = region_.names.at(value);
    }
    statements_ += fmt::format("  local {} = {}\n", left, call);
  }

  // Gives a node's result a local name.
  void name_expression(ValueId value) {
    if (!value || !region_.selection.has(graph_.producer(value))) return;
    std::string& expression = expressions_.at(value);
    const std::string& name = region_.names.at(value);
    if (expression == name) return;
    statements_ += fmt::format("  local {} = {}\n", name, expression);
    expression = name;
  }

  // How often the function names the value.
  std::size_t reads_of(ValueId value) {
    auto count = static_cast<std::size_t>(
        std::ranges::count(region_.selection.results, value));
    for (const NodeId id : region_.selection.nodes) {
      for (std::size_t i = 0; i < newest_.input_count(id); ++i) {
        count += newest_.input(id, i) == value ? 1 : 0;
      }
    }
    return count;
  }

  // The node as an expression.
  std::string call_of(NodeId id) {
    const ir::Op& op = graph_.op(id);
    std::size_t count = newest_.input_count(id);
    while (count > 0 && !newest_.input(id, count - 1)) --count;
    std::string inputs, named;
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId value = newest_.input(id, i);
      append(inputs, value ? expressions_.at(value) : "nil");
    }
    for (const ir::Attribute& each : newest_.written(id)) {
      if (newest_.may_be_unnamed(id, each)) continue;
      append(named, code_key(each.name) + " = " + *attribute_text(op, each));
    }
    const std::size_t outputs = graph_.outputs(id).size();
    if (outputs > 1) append(named, fmt::format("outputs = {}", outputs));
    if (named.empty()) return code_op(op) + "(" + inputs + ")";
    append(inputs, named);
    return code_op(op) + "{" + inputs + "}";
  }

  Region& region_;
  ir::Graph& graph_;
  ops::NewestNodes& newest_;
  bool literals_;
  std::map<ValueId, std::string> expressions_;
  std::string statements_;
};

}  // namespace

Status check_node(Region& region, ir::NodeId node) {
  const std::string where = printable(region.graph.describe(node));
  if (!region.newest.readable(node)) {
    return misuse("no pattern reads this node", where,
                  "the newest opset has nothing like it");
  }
  const ir::Op& op = region.graph.op(node);
  if (region.model.find_function(op) != nullptr) {
    return misuse("a call of a function of the model", where,
                  "--first rules/canonical.lua puts its nodes in place");
  }
  for (const ir::Attribute& each : region.newest.written(node)) {
    if (region.newest.may_be_unnamed(node, each)) continue;
    if (attribute_text(op, each)) continue;
    return misuse(fmt::format("no pattern can write the attribute '{}'",
                              printable(each.name)),
                  where);
  }
  return {};
}

std::string function_text(Region& region, bool literals) {
  return Writer(region, literals).run();
}

void append(std::string& list, std::string_view one) {
  if (!list.empty()) list += ", ";
  list += one;
}

}  // namespace ruleengine::lua
