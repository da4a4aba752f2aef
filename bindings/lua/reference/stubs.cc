// The language as LuaCATS, for lua-language-server and what reads the same.
#include <fmt/format.h>

#include <map>
#include <string>

#include "bindings/lua/code/code_literal.h"
#include "bindings/lua/reference/page.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "core/ir/data_type.h"
#include "core/ops/attribute_meaning.h"
#include "core/ops/op_facts.h"
#include "core/ops/row_text.h"
#include "core/rewrite/rule.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kHead = R"(---@meta ruleengine
-- The language of rule files. `ruleengine docs --stubs` prints this.

---@class re.List
---@field [integer] any
---What stands for a value in a pattern.
---@alias re.Term re.Pattern|number|string|re.List
---What stands for a value in `rewrite`.
---@alias re.Operand re.Value|number|boolean|re.List
---What a name of `match` stands for in `where` and `rewrite`.
---@alias re.Captured re.Value|re.Node|re.Dim|re.List|number|string|any

---@alias re.Int integer|boolean|re.Dim|re.Pattern
---@alias re.Ints (integer|re.Dim)[]|re.Shape|re.Pattern
---@alias re.Float number|re.Pattern
---@alias re.Floats number[]|re.Pattern
---@alias re.String string|re.Pattern
---@alias re.Strings string[]|re.Pattern

---A node in table form: inputs by place, attributes by name.
---@class re.NodeTable
---@field [integer] any
---@field attrs? re.Any `any`: attributes that are not named may have any value.
---@field outputs? integer|re.Any How many values it gives.
)";

std::string_view attribute_type(const ops::FormalAttribute& formal) {
  using Kind = ir::AttributeKind;
  switch (formal.kind) {
    case Kind::kInt:
      return ops::names_element_type(formal.name) ? "re.Int|re.ElementType"
                                                  : "re.Int";
    case Kind::kInts:
      return "re.Ints";
    case Kind::kFloat:
      return "re.Float";
    case Kind::kFloats:
      return "re.Floats";
    case Kind::kString:
      return "re.String";
    case Kind::kStrings:
      return "re.Strings";
    default:
      return "any";
  }
}

std::string class_of(const ops::OpFacts& op) {
  return fmt::format("re.op.{}{}{}", op.domain, op.domain.empty() ? "" : ".",
                     op.type);
}

class Writer {
 public:
  explicit Writer(std::span<const PageText> pages) : meanings_(pages) {}

  Result<std::string> run() {
    out_ = kHead;
    name_lists();
    for (const WordClass& each : word_classes()) {
      each.name.empty() ? functions() : class_(each);
    }
    ops();
    if (!missing_.empty()) {
      return wrong("the pages do not say what a word means", "", missing_);
    }
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string meaning(const Word& word) {
    const Block* block = meanings_.find(word);
    if (block != nullptr) return plain_text(block->text);
    missing_ += fmt::format("{}{}{}{}", missing_.empty() ? "" : ", ", word.of,
                            word.of.empty() ? "" : ".", word.name);
    return {};
  }

  void name_lists() {
    std::string names;
    for (int number = 1; ir::is_known(ir::DataType(number)); ++number) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : "|",
                           ir::data_type_name(ir::DataType(number)));
    }
    line("\n---@alias re.ElementType {}", names);
    names.clear();
    for (const std::string_view phase : rewrite::phase_names()) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : "|", phase);
    }
    line("---@alias re.Phase {}", names);
  }

  void class_(const WordClass& of) {
    line("\n---@class {}{}", of.name, of.bases);
    if (!of.extras.empty()) line("{}", of.extras);
    for (const Word& word : words()) {
      if (word.of != of.name) continue;
      line("---@field {} {} # {}", word.name, field_type(word), meaning(word));
    }
  }

  static std::string field_type(const Word& word) {
    const auto types = overloads_of(word.type);
    std::string out;
    for (std::string_view each : types) {
      // Editors do not see in `rewrite` that `where` has looked for nil.
      if (word.of == "re.Value" && each.ends_with('?')) each.remove_suffix(1);
      out += out.empty() ? "" : "|";
      out += types.size() == 1 ? std::string(each) : fmt::format("({})", each);
    }
    return out;
  }

  // What stands alone: functions, and `any`.
  void functions() {
    for (const Word& word : words()) {
      if (!word.of.empty()) continue;
      line("\n---{}", meaning(word));
      if (word.type.starts_with("fun")) {
        function(word.name, word.type);
      } else {
        line("---@type {}\n{} = nil", word.type, word.name);
      }
    }
  }

  // "fun<T>(a: A, b?: B, ...: C): R" as a declaration.
  void function(std::string_view name, std::string_view type) {
    type.remove_prefix(3);
    if (type.starts_with('<')) {
      line("---@generic {}", type.substr(1, type.find('>') - 1));
      type.remove_prefix(type.find('>') + 1);
    }
    const std::size_t end = closing(type);
    std::string names;
    for (std::string_view each : split(type.substr(1, end - 1))) {
      const std::size_t colon = each.find(':');
      const std::string_view parameter = each.substr(0, colon);
      line("---@param {} {}", parameter, each.substr(colon + 2));
      names += names.empty() ? "" : ", ";
      names += parameter.substr(0, parameter.find('?'));
    }
    if (end + 1 < type.size()) line("---@return {}", type.substr(end + 3));
    line("function {}({}) end", name, names);
  }

  // Of the parenthesis at the beginning.
  static std::size_t closing(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) return i;
    }
    return text.size();
  }

  // At the commas outside of parentheses and braces.
  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> out;
    if (text.empty()) return out;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const char c = i == text.size() ? ',' : text[i];
      if (c == '(' || c == '{') ++depth;
      if (c == ')' || c == '}') --depth;
      if (c != ',' || depth > 0) continue;
      out.push_back(text.substr(begin, i - begin));
      begin = i + 2;
    }
    return out;
  }

  // The ops of each domain as fields, once for patterns and once for
  // `rewrite`.
  void ops() {
    std::map<std::string_view, std::vector<const ops::OpFacts*>> domains;
    for (const ops::OpFacts* op : ops::newest_ops()) {
      if (!op->deprecated) domains[op->domain].push_back(op);
    }
    for (const auto& [domain, of] : domains) {
      for (const ops::OpFacts* op : of) node_table(*op);
    }
    side("re.MatchOps", "re.Term", "re.Pattern", domains);
    side("re.BuildOps", "re.Operand", "re.Value", domains);
  }

  void node_table(const ops::OpFacts& op) {
    line("\n---{}", ops::signature(op));
    line("---@class {}: re.NodeTable", class_of(op));
    for (const ops::FormalAttribute& each : op.attributes) {
      line("---@field {}? {}", each.name, attribute_type(each));
    }
  }

  void side(std::string_view name, std::string_view takes,
            std::string_view gives,
            const std::map<std::string_view, std::vector<const ops::OpFacts*>>&
                domains) {
    const std::string any = fmt::format(
        "fun(node: table|{0}|nil, ...: {0}?): "
        "{1}, ...: {1}",
        takes, gives);
    line("\n---Ops of a domain that the engine does not know.");
    line("---@class {}.Domain\n---@field [string] {}", name, any);
    for (const auto& [domain, of] : domains) {
      line("\n---@class {}{}{}", name, domain.empty() ? "" : ".", domain);
      if (domain.empty()) {
        for (const auto& [other, its] : domains) {
          if (other.empty()) continue;
          line("---@field {} {}.{}", code_key(other), name, other);
        }
        for (const ops::OpClass& each : ops::op_classes()) {
          line("---@field {} {} # Any op of the class.", each.name, any);
        }
      }
      for (const ops::OpFacts* op : of) {
        line("---@field {} fun(node: {}|{}|nil, ...: {}?): {}, ...: {} # {}",
             code_key(op->type), class_of(*op), takes, takes, gives, gives,
             ops::signature(*op));
      }
      const std::string further =
          domain.empty() ? fmt::format("{}.Domain", name) : any;
      line("---@field [string] {}", further);
    }
  }

  Meanings meanings_;
  std::string out_;
  std::string missing_;
};

}  // namespace

Result<std::string> language_stubs(std::span<const PageText> pages) {
  return Writer(pages).run();
}

}  // namespace ruleengine::lua
