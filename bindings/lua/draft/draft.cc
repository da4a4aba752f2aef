#include "bindings/lua/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "bindings/lua/code/code_literal.h"
#include "bindings/lua/draft/misuse.h"
#include "bindings/lua/draft/sources.h"
#include "bindings/lua/words/words.h"
#include "core/analysis/inference.h"
#include "core/ops/attribute_meaning.h"
#include "core/text/print.h"
#include "core/text/words.h"

namespace ruleengine::lua {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kExpressionWidth = 80;       // of an expression
constexpr const char* kNextLine = "\n          ";  // of an example

void append(std::string& list, std::string_view one) {
  if (!list.empty()) list += ", ";
  list += one;
}

std::string domain_text(std::string_view domain) {
  if (domain.empty()) return "op";
  return is_lua_name(domain) ? "op." + std::string(domain)
                             : "op[" + code_text(domain) + "]";
}

// How a rule writes an attribute; none if it cannot.
std::optional<std::string> attribute_in_rule(const ir::Op& op,
                                             const ir::Attribute& attribute) {
  if (attribute.kind == ir::AttributeKind::kTensor) return std::nullopt;
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

class NodesDraft final : public Draft {
 public:
  NodesDraft(ir::Model& model, std::string op)
      : model_(model),
        graph_(model.graph),
        op_(std::move(op)),
        facts_(model.graph),
        newest_(model.graph, facts_) {}

  Status read(std::span<const NodeId> nodes) {
    auto selection = select_nodes(graph_, nodes);
    if (!selection) return selection.error();
    selection_ = *std::move(selection);
    for (const NodeId id : selection_.nodes) {
      if (auto status = check(id); !status) return status;
    }
    FreshNames fresh;
    auto sources = sources_of(model_, newest_, selection_, fresh);
    if (!sources) return sources.error();
    sources_ = *std::move(sources);
    name_values(fresh);
    list_sizes();
    return {};
  }

  const std::vector<Size>& sizes() const override { return sizes_; }

  std::string text(std::span<const std::string> names, bool literals) override {
    size_names_ = names;
    literals_ = literals;
    return head() + rule();
  }

 private:
  struct Call {  // one node as an expression
    std::string text;
    std::size_t outputs = 1;
  };

  Status check(NodeId id) {
    const std::string where = printable(graph_.describe(id));
    if (!newest_.readable(id)) {
      return misuse("no pattern reads this node", where,
                    "the newest opset has nothing like it");
    }
    for (const ir::Attribute& each : newest_.written(id)) {
      if (newest_.may_be_unnamed(id, each)) continue;
      if (attribute_in_rule(graph_.op(id), each)) continue;
      return misuse(fmt::format("no pattern can write the attribute '{}'",
                                printable(each.name)),
                    where);
    }
    return {};
  }

  void name_values(FreshNames& fresh) {
    for (const Source& each : sources_) names_[each.value] = each.name;
    for (const NodeId id : selection_.nodes) {
      for (const ValueId value : graph_.outputs(id)) {
        if (value) {
          names_[value] = fresh.take(in_small_letters(graph_.op(id).type));
        }
      }
    }
  }

  void list_sizes() {
    for (const Source& each : sources_) {
      if (!is_input(each)) continue;
      first_size_[each.value] = sizes_.size();
      for (const ir::Dim dim : each.type->dims) {
        sizes_.push_back({dim, !dim.known()});
      }
    }
  }

  // Whether the example has it as an input.
  static bool is_input(const Source& source) {
    return source.is_stored && !source.is_shown;
  }
  bool is_literal(const Source& source) const {
    return !source.literal.empty() && (literals_ || !source.is_stored);
  }

  std::string model_name() const {
    const auto file = std::filesystem::path(model_.path).filename().string();
    return file.empty() || file == "-" ? "the model" : printable(file, 60);
  }

  // What the op reads: "x, w", or with a prefix "m.x, m.w".
  std::string parameters(std::string_view prefix = "") const {
    std::string out;
    for (const Source& each : sources_) {
      if (!is_literal(each)) append(out, std::string(prefix) + each.name);
    }
    return out;
  }

  // --- the function that is the pattern and the body

  std::string head() {
    std::string given = "op";
    if (const std::string all = parameters(); !all.empty()) append(given, all);
    const std::size_t count = selection_.nodes.size();
    return fmt::format(
        "-- What {} of {} compute{}: the pattern, and what the new op means.\n"
        "local function nodes({})\n{}end\n\n",
        count == 1 ? "a node" : fmt::format("{} nodes", count), model_name(),
        count == 1 ? "s" : "", given, statements());
  }

  std::string statements() {
    expressions_.clear();
    statements_.clear();
    for (const Source& each : sources_) {
      expressions_[each.value] = is_literal(each) ? each.literal : each.name;
    }
    for (const NodeId id : selection_.nodes) add_statement(id);
    std::string results;
    for (const ValueId value : selection_.results) {
      append(results, expressions_.at(value));
    }
    return fmt::format("{}  return {}\n", statements_, results);
  }

  void add_statement(NodeId id) {
    Call call = call_of(id);
    if (call.text.size() > kExpressionWidth) {
      for (std::size_t i = 0; i < newest_.input_count(id); ++i) {
        name_expression(newest_.input(id, i));
      }
      call = call_of(id);
    }
    const ValueId only = graph_.output(id);
    if (call.outputs == 1 && reads_of(only) <= 1) {
      expressions_[only] = std::move(call.text);
      return;
    }
    std::string left;
    for (std::size_t i = 0; i < call.outputs; ++i) {
      const ValueId value = graph_.output(id, i);
      append(left, value ? names_.at(value) : "_");
      if (value) expressions_[value] = names_.at(value);
    }
    statements_ += fmt::format("  local {} = {}\n", left, call.text);
  }

  // Gives a node's result a local name.
  void name_expression(ValueId value) {
    if (!value || !selection_.has(graph_.producer(value))) return;
    std::string& expression = expressions_.at(value);
    const std::string& name = names_.at(value);
    if (expression == name) return;
    statements_ += fmt::format("  local {} = {}\n", name, expression);
    expression = name;
  }

  // How often the function names the value.
  std::size_t reads_of(ValueId value) {
    auto count =
        static_cast<std::size_t>(std::ranges::count(selection_.results, value));
    for (const NodeId id : selection_.nodes) {
      for (std::size_t i = 0; i < newest_.input_count(id); ++i) {
        count += newest_.input(id, i) == value ? 1 : 0;
      }
    }
    return count;
  }

  Call call_of(NodeId id) {
    const ir::Op& op = graph_.op(id);
    Call out;
    std::size_t count = newest_.input_count(id);
    while (count > 0 && !newest_.input(id, count - 1)) --count;
    std::string inputs, attributes;
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId value = newest_.input(id, i);
      append(inputs, value ? expressions_.at(value) : "nil");
    }
    for (const ir::Attribute& each : newest_.written(id)) {
      if (newest_.may_be_unnamed(id, each)) continue;
      append(attributes,
             fmt::format("{} = {}", each.name, *attribute_in_rule(op, each)));
    }
    out.outputs = graph_.outputs(id).size();
    if (out.outputs > 1) {
      append(attributes, fmt::format("outputs = {}", out.outputs));
    }
    const bool is_table = !attributes.empty();
    if (is_table) append(inputs, attributes);
    const std::string type = is_lua_name(op.type)
                                 ? "." + std::string(op.type)
                                 : "[" + code_text(op.type) + "]";
    out.text = fmt::format("{}{}{}{}{}", domain_text(op.domain), type,
                           is_table ? '{' : '(', inputs, is_table ? '}' : ')');
    return out;
  }

  // --- the rule

  std::string rule() {
    const std::string all = parameters(), read = parameters("m.");
    const std::string given = all.empty() ? "op" : "op, " + all;
    std::string fields = read;
    append(fields, fmt::format("outputs = {}", selection_.results.size()));
    const std::string call =
        selection_.results.size() == 1 ? "(" + read + ")" : "{" + fields + "}";
    const std::string title = code_text("as in " + model_name());
    return fmt::format(
        "return rule {{\n"
        "  doc   = {},\n"
        "  match = function({})\n{}    return nodes({})\n  end,\n"
        "  rewrite = function(op, m) return op[\"com.example\"].{}{} end,\n"
        "  body = {{\n    [\"com.example.{}\"] = function({}, attrs)\n"
        "      return nodes({})\n    end,\n  }},\n"
        "  examples = {{\n"
        "    {{ {}, {},\n      \"{} = com.example.{}({})\" }},\n  }},\n}}\n",
        code_long_text(fmt::format(" {}   =>   {}({}) ", op_types(), op_, all)),
        given, shape_facts(), given, op_, call, op_, given, given, title,
        code_long_text("\n" + example()), names_of(selection_.results), op_,
        all);
  }

  // "Div, Erf, Add": each type once.
  std::string op_types() const {
    constexpr std::size_t kMost = 6;
    std::vector<std::string_view> types;
    for (const NodeId id : selection_.nodes) {
      const std::string_view type = graph_.op(id).type;
      if (std::ranges::find(types, type) == types.end()) types.push_back(type);
    }
    std::string out;
    for (std::size_t i = 0; i < std::min(types.size(), kMost); ++i) {
      append(out, types[i]);
    }
    if (types.size() > kMost) append(out, "...");
    return printable(out);
  }

  std::string shape_facts() const {
    std::string out;
    for (const Source& each : sources_) {
      if (!is_input(each) || each.type->dims.empty()) continue;
      std::string dims;
      for (std::size_t i = 0; i < each.type->dims.size(); ++i) {
        const std::string& name = size_name(each, i);
        dims += (i == 0 ? "" : " ") + (name.empty() ? "_" : name);
      }
      out += fmt::format("    {}:shape \"{}\"\n", each.name, dims);
    }
    return out;
  }

  const std::string& size_name(const Source& source, std::size_t axis) const {
    return size_names_[first_size_.at(source.value) + axis];
  }

  std::string names_of(std::span<const ValueId> values) const {
    std::string out;
    for (const ValueId value : values) append(out, names_.at(value));
    return out;
  }

  // --- the example

  std::string example() {
    std::string inputs, outputs, constants, nodes;
    for (const Source& each : sources_) {
      if (is_input(each)) append(inputs, input_text(each));
      if (each.is_stored && each.is_shown) {
        append(constants, constant_text(each));
      }
    }
    for (const ValueId value : selection_.results) {
      const ir::Type* type = facts_.type(value);
      const bool is_known = type != nullptr && type->is_tensor();
      append(outputs,
             fmt::format("{}[] {}",
                         is_known ? ir::data_type_name(type->elem) : "float",
                         names_.at(value)));
    }
    for (const NodeId id : selection_.nodes) nodes += node_text(id);
    inputs = "(" + inputs + ")";
    outputs = "=> (" + outputs + ")";
    if (!constants.empty()) {
      const bool is_short = constants.size() < kExpressionWidth / 2;
      outputs += is_short ? " " : kNextLine;
      outputs += "<" + constants + ">";
    }
    const bool is_short = inputs.size() + outputs.size() < kExpressionWidth;
    return fmt::format("{}        {}{}{} {{\n{}        }}", opsets(), inputs,
                       is_short ? " " : kNextLine, outputs, nodes);
  }

  std::string opsets() const {
    std::string out;
    for (const ir::OpsetImport& each : model_.opset_imports) {
      const bool is_standard = each.domain.empty() || each.domain == "ai.onnx";
      const auto reads = [&](NodeId id) {
        return graph_.op(id).domain == each.domain;
      };
      if (is_standard || std::ranges::any_of(selection_.nodes, reads)) {
        append(out, fmt::format("\"{}\": {}", is_standard ? "" : each.domain,
                                each.version));
      }
    }
    return fmt::format("        <opset_import: [{}]>\n", out);
  }

  std::string input_text(const Source& source) const {
    std::string dims;
    for (std::size_t i = 0; i < source.type->dims.size(); ++i) {
      const std::string& name = size_name(source, i);
      if (i > 0) dims += ',';
      dims += name.empty() ? std::to_string(source.type->dims[i].size()) : name;
    }
    if (!dims.empty()) dims = "[" + dims + "]";
    return fmt::format("{}{} {}", ir::data_type_name(source.type->elem), dims,
                       source.name);
  }

  // "int64[2] shape = {1, 2}"
  std::string constant_text(const Source& source) const {
    const std::string tensor = text::tensor_text(
        *source.constant, model_.external.get(), {.weights = true});
    const std::size_t type = tensor.find(" {");
    return fmt::format("{} {} ={}", tensor.substr(0, type), source.name,
                       tensor.substr(type));
  }

  std::string node_text(NodeId id) const {
    std::string left, inputs, attributes;
    bool is_first = true;
    for (const ValueId value : graph_.outputs(id)) {
      append(left, value ? names_.at(value) : "\"\"");
    }
    for (const ir::Operand& use : graph_.inputs(id)) {
      if (!is_first) inputs += ", ";
      is_first = false;
      if (use.value) inputs += names_.at(use.value);
    }
    for (const ir::Attribute& each : graph_.node(id).attributes) {
      append(attributes, text::attribute_text(graph_, each));
    }
    if (!attributes.empty()) attributes = " <" + attributes + "> ";
    const ir::Op& op = graph_.op(id);
    return fmt::format("          {} = {}{}({})\n", left,
                       text::op_text(op.domain, op.type, op.overload),
                       attributes, inputs);
  }

  ir::Model& model_;
  ir::Graph& graph_;
  std::string op_;
  analysis::Inference facts_;
  ops::NewestNodes newest_;
  Selection selection_;
  std::vector<Source> sources_;
  std::map<ValueId, std::string> names_;
  std::vector<Size> sizes_;
  std::map<ValueId, std::size_t> first_size_;  // of inputs, in sizes_
  // Of the text that is being written.
  std::span<const std::string> size_names_;
  bool literals_ = true;
  std::map<ValueId, std::string> expressions_;
  std::string statements_;
};

}  // namespace

Result<std::unique_ptr<Draft>> Draft::create(ir::Model& model,
                                             std::span<const ir::NodeId> nodes,
                                             std::string op) {
  auto draft = std::make_unique<NodesDraft>(model, std::move(op));
  if (auto status = draft->read(nodes); !status) return status.error();
  return std::unique_ptr<Draft>(std::move(draft));
}

}  // namespace ruleengine::lua
