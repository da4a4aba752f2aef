// code_of: a graph as Lua, one statement for each node.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "bindings/lua/code.h"
#include "bindings/lua/code/code_literal.h"
#include "bindings/lua/words/words.h"
#include "core/ir/order.h"
#include "core/ops/op_facts.h"
#include "core/text/print.h"

namespace ruleengine::lua {
namespace {

using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

// Statements in one `part`, far below the limit of a Lua function.
constexpr std::size_t kStatements = 1000;
constexpr std::size_t kNameEntries = 1000;

// Names that have another meaning in the file.
bool is_word(std::string_view name) {
  static const std::set<std::string_view> kWords = {
      "_",        "_G",     "assert", "bit",      "coroutine", "error",
      "getfenv",  "input",  "ipairs", "math",     "names",     "next",
      "none",     "op",     "output", "pairs",    "part",      "pcall",
      "rawequal", "rawget", "rawset", "select",   "setfenv",   "stored",
      "string",   "table",  "tensor", "tonumber", "tostring",  "type",
      "unpack",   "weight", "xpcall"};
  return kWords.contains(name);
}

class CodePrinter {
 public:
  CodePrinter(const ir::Model& model, std::size_t first_new)
      : model_(model), graph_(model.graph), first_new_(first_new) {}

  Result<std::string> run() {
    auto order = ir::topological_order(graph_);
    if (!order) return order.error();
    order_.resize(graph_.block_count());
    for (const NodeId id : *order) {
      order_[graph_.node(id).block.index()].push_back(id);
    }
    scope(ir::Graph::main_block(), 0);
    return head() + body() + names();
  }

 private:
  // --- variables ---

  std::string fresh(std::string_view wanted) {
    std::string stem;
    for (const char c : wanted) {
      stem +=
          std::isalnum(static_cast<unsigned char>(c)) != 0
              ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
              : '_';
    }
    if (!is_lua_name(stem) || is_word(stem)) stem = "v_" + stem;
    std::string name = stem;
    for (int& count = counts_[stem]; !taken_.insert(name).second;) {
      name = fmt::format("{}_{}", stem, ++count);
    }
    return name;
  }

  // The variable of a value: its own name if that is a valid variable.
  const std::string& define(ValueId value, std::string_view stem) {
    const std::string_view real = graph_.name(value);
    const bool usable =
        is_lua_name(real) && !is_word(real) && taken_.emplace(real).second;
    return variables_[value] = usable ? std::string(real) : fresh(stem);
  }

  std::string variable(ValueId value) const {
    if (!value) return "none";
    const auto at = variables_.find(value);
    return at == variables_.end() ? "none" : at->second;
  }

  // --- what a node reads ---

  // Values of `block` that the node or one of its bodies reads, without
  // duplicates.
  std::vector<ValueId> reads(NodeId id, BlockId block) const {
    std::vector<ValueId> all;
    std::set<ValueId> seen;
    const auto add = [&](ValueId value) {
      const bool own = value && graph_.value(value).block == block;
      if (own && seen.insert(value).second) all.push_back(value);
    };
    std::vector<NodeId> pending = {id};
    for (std::size_t i = 0; i < pending.size(); ++i) {
      for (const ir::Operand& use : graph_.inputs(pending[i])) add(use.value);
      for (const ir::Attribute& each : graph_.node(pending[i]).attributes) {
        for (const BlockId body : each.blocks) {
          const std::vector<NodeId>& inner = order_[body.index()];
          pending.insert(pending.end(), inner.begin(), inner.end());
          std::ranges::for_each(graph_.block(body).outputs, add);
        }
      }
    }
    return all;
  }

  // --- statements ---

  void line(int depth, const std::string& text, const std::string& comment) {
    std::string out(static_cast<std::size_t>(depth) * 2, ' ');
    out += text;
    if (!comment.empty()) {
      out.resize(std::max<std::size_t>(out.size() + 2, 56), ' ');
      out += "-- " + printable(comment);
    }
    lines_.push_back(std::move(out));
  }

  void scope(BlockId id, int depth) {
    const ir::Block& block = graph_.block(id);
    for (const ValueId value : block.inputs) {
      // Before IR version 4 weights also had to be inputs.
      if (graph_.value(value).kind != ir::ValueKind::kInput) continue;
      const std::string& name = define(value, graph_.name(value));
      line(depth,
           fmt::format("{} = input {}", name, code_text(graph_.name(value))),
           text::type_text(model_, graph_.value(value).declared));
    }
    const std::vector<NodeId>& nodes = order_[id.index()];
    std::vector<std::vector<ValueId>> read(nodes.size());
    std::map<ValueId, std::size_t> last;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      read[i] = reads(nodes[i], id);
      for (const ValueId value : read[i]) last[value] = i;
    }
    for (const ValueId value : block.outputs) last[value] = nodes.size();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId value : read[i]) weight(value, depth);
      statement(nodes[i], depth);
      release(read[i], last, i);
    }
    std::string results;
    for (const ValueId value : block.outputs) {
      if (value && graph_.value(value).block == id) weight(value, depth);
      results += (results.empty() ? "" : ", ") + variable(value);
    }
    line(depth, "output(" + results + ")", "");
  }

  void weight(ValueId id, int depth) {
    const ir::Value& value = graph_.value(id);
    if (value.kind != ir::ValueKind::kInitializer || variables_.contains(id)) {
      return;
    }
    const std::string& name = define(id, graph_.name(id));
    const std::string real = code_text(graph_.name(id));
    if (id.index() >= first_new_) {
      const auto text =
          value.tensor == nullptr
              ? std::nullopt
              : code_tensor_text(*value.tensor, model_.external.get());
      if (text) {
        return line(depth,
                    fmt::format("{} = weight({}, {})", name, real, *text), "");
      }
      if (unsaid_.empty()) unsaid_ = graph_.name(id);
    }
    std::string type;
    if (value.tensor != nullptr) {
      type = ir::data_type_name(value.tensor->dtype);
      if (!value.tensor->dims.empty()) {
        type += fmt::format("[{}]", fmt::join(value.tensor->dims, ","));
      }
    }
    line(depth, fmt::format("{} = weight {}", name, real), type);
  }

  // Releases values that are not read any more, on the line of their last
  // reader.
  void release(const std::vector<ValueId>& read,
               const std::map<ValueId, std::size_t>& last, std::size_t at) {
    // Lua allows at most 200 names in an assignment.
    constexpr std::size_t kMostNames = 100;
    std::vector<std::string> gone;
    const auto flush = [&] {
      if (gone.empty()) return;
      lines_.back() += fmt::format(";  {} = nil", fmt::join(gone, ", "));
      gone.clear();
    };
    for (const ValueId value : read) {
      if (last.at(value) != at) continue;
      gone.push_back(variable(value));
      if (gone.size() == kMostNames) flush();
    }
    flush();
  }

  void statement(NodeId id, int depth) {
    const ir::Node& node = graph_.node(id);
    const ir::Op& op = graph_.op(id);
    std::vector<std::string> parts, own;
    for (const ir::Operand& use : graph_.inputs(id)) {
      parts.push_back(variable(use.value));
    }
    std::string last_part;  // where bodies ended
    const auto* facts = ops::facts_of(graph_, id);
    std::string comment;
    bool has_body = false;
    for (const ir::Attribute& attribute : node.attributes) {
      has_body = has_body || attribute.kind == ir::AttributeKind::kGraph;
    }
    for (const ir::Attribute& attribute : node.attributes) {
      if (attribute.kind == ir::AttributeKind::kGraph) continue;
      const auto text = code_attribute(
          attribute,
          facts != nullptr ? facts->attribute(attribute.name) : nullptr,
          model_.external.get());
      const bool plain = is_lua_name(attribute.name) &&
                         attribute.name != "outputs" &&
                         attribute.name != "attrs";
      const std::string entry =
          code_key(attribute.name) + " = " + text.value_or("stored");
      (plain ? parts : own).push_back(entry);
      if (text) continue;
      comment += (comment.empty() ? "" : ", ") +
                 text::attribute_text(graph_, attribute);
    }
    if (!own.empty()) {
      parts.push_back(fmt::format("attrs = {{{}}}", fmt::join(own, ", ")));
    }
    const std::size_t outputs = graph_.outputs(id).size();
    if (outputs != 1) parts.push_back(fmt::format("outputs = {}", outputs));
    const std::string call =
        code_op(op) + "{" + fmt::format("{}", fmt::join(parts, ", "));
    if (!has_body) {
      const std::string left = results(id);
      return line(depth, left + call + "}", comment);
    }
    bodies(id, depth, call, !parts.empty());
  }

  // Bodies are printed before the node's own results get variables.
  void bodies(NodeId id, int depth, const std::string& call, bool comma) {
    const std::size_t at = lines_.size();
    line(depth, "", "");
    std::string separator = comma ? ", " : "";
    for (const ir::Attribute& attribute : graph_.node(id).attributes) {
      if (attribute.kind != ir::AttributeKind::kGraph) continue;
      lines_.back() +=
          fmt::format("{}{} = function()", separator, attribute.name);
      scope(attribute.blocks[0], depth + 1);
      line(depth, "end", "");
      separator = ", ";
    }
    lines_.back() += "}";
    std::string& first = lines_[at];
    const std::size_t indent = static_cast<std::size_t>(depth) * 2;
    first.insert(indent, results(id) + call);
  }

  // "a, b = "; also collects entries for `names`.
  std::string results(NodeId id) {
    const ir::Op& op = graph_.op(id);
    std::vector<std::string> left;
    std::string key;
    bool by_variables = true, by_node = !graph_.node(id).name.empty();
    std::string list;
    std::size_t place = 0;
    for (const ValueId value : graph_.outputs(id)) {
      const std::size_t i = place++;
      if (!value) {
        left.emplace_back("_");
        list += ", \"\"";
        continue;
      }
      const std::string& name = define(value, op.type);
      left.push_back(name);
      if (key.empty()) key = name;
      const std::string_view real = graph_.name(value);
      by_variables = by_variables && real == name;
      by_node = by_node &&
                real == fmt::format("{}_output_{}", graph_.node(id).name, i);
      list += ", " + code_text(real);
    }
    if (left.empty()) return "";
    const std::string node = code_text(graph_.node(id).name);
    if (by_node && !key.empty()) {
      entries_.push_back(fmt::format("{} = {}", key, node));
    } else if (!key.empty() &&
               (!by_variables || !graph_.node(id).name.empty())) {
      entries_.push_back(
          fmt::format("{} = {{{}{}}}", key, node, by_variables ? "" : list));
    }
    return fmt::format("{} = ", fmt::join(left, ", "));
  }

  // --- the file ---

  std::string head() const {
    std::string opsets;
    for (const ir::OpsetImport& each : model_.opset_imports) {
      opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ",
                            each.domain.empty() ? "ai.onnx" : each.domain,
                            each.version);
    }
    const std::string use =
        unsaid_.empty()
            ? "-- `ruleengine build CODE.lua MODEL -o OUT` makes a model of "
              "this; weights, types and\n-- functions are those of MODEL.\n"
            : fmt::format(
                  "-- Only for reading: rules made weights that are too large "
                  "to "
                  "print; the first is '{}'.\n-- To build, write the model "
                  "with `ruleengine run` and take the code of that.\n",
                  printable(unsaid_, 60));
    return fmt::format(
        "-- The graph of {}, opsets: {}.\n{}",
        printable(model_.path.empty()
                      ? "a model"
                      : std::filesystem::path(model_.path).filename().string()),
        printable(opsets), use);
  }

  std::string body() const {
    if (lines_.size() <= kStatements) {
      return fmt::format("{}\n", fmt::join(lines_, "\n"));
    }
    std::string out = "part(function()\n";
    std::size_t count = 0;
    for (const std::string& each : lines_) {
      // Not inside of a body, whose lines are indented and end with `end`.
      const bool begins = each[0] != ' ' && !is_end(each);
      if (count >= kStatements && begins) {
        out += "end)\n\npart(function()\n";
        count = 0;
      }
      out += each + "\n";
      ++count;
    }
    return out + "end)\n";
  }
  static bool is_end(const std::string& text) {
    return text == "end" || text.starts_with("end,") ||
           text.starts_with("end}");
  }

  std::string names() const {
    std::string out;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i % kNameEntries == 0) {
        out += i == 0 ? "\nnames {\n" : "}\n\nnames {\n";
      }
      out += "  " + entries_[i] + ",\n";
    }
    return out.empty() ? out : out + "}\n";
  }

  const ir::Model& model_;
  const ir::Graph& graph_;
  std::size_t first_new_;  // values from here on were made by rules
  std::string unsaid_;     // the first weight of rules that is too large
  std::vector<std::vector<NodeId>> order_;
  std::map<ValueId, std::string> variables_;
  std::set<std::string> taken_;
  std::map<std::string, int> counts_;
  std::vector<std::string> lines_, entries_;
};

}  // namespace

Result<std::string> code_of(const ir::Model& model, std::size_t first_new) {
  return CodePrinter(model, first_new).run();
}

}  // namespace ruleengine::lua
