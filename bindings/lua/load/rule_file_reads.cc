// Checks that the names which callbacks read from a match exist, by their text,
// so that a misspelled name in a branch that no test reaches is found at load.
#include <fmt/format.h>

#include <lua.hpp>
#include <set>

#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/session/handle.h"
#include "core/base/suggest.h"
#include "core/ir/data_type.h"

namespace ruleengine::lua {
namespace {

class ReadsCheck {
 public:
  ReadsCheck(lua_State* state, const RuleTable& table, const LoadedRule& rule,
             const DeclaredOptions& options)
      : state_(state), table_(table), rule_(rule), options_(options) {}

  void run() {
    const std::vector<pattern::Variable>& variables =
        rule_.pattern->variables();
    const std::vector<pattern::Binding> bound =
        pattern::bindings(*rule_.pattern);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      known_.push_back(variables[i].name);
      if (bound[i] == pattern::Binding::kNever) {
        unbound_.insert(variables[i].name);
      } else {
        bound_.insert(variables[i].name);
      }
    }
    const bool groups = rule_.together != 0;
    const SourceScan::Uses where = uses(rule_.where, "where", 0, false);
    const SourceScan::Uses together =
        uses(rule_.together, "together", 0, false);
    const SourceScan::Uses rewrite = uses(rule_.rewrite, "rewrite", 1, groups);
    for (const SourceScan::Uses* each : {&where, &together, &rewrite}) {
      check_writes(*each);
    }
    for (const SourceScan::Uses* each : {&where, &together, &rewrite}) {
      for (const SourceScan::Use& use : each->reads) check_read(use);
      for (const SourceScan::Use& use : each->options) check_option(use);
      for (const auto& one : each->compared) check_compared(one);
    }
    if (rule_.replacement) check_parameters(*rule_.replacement);
  }
  const std::set<std::string>& written() const { return written_; }

 private:
  SourceScan::Uses uses(FunctionRef function, const char* key,
                        std::size_t parameter, bool list) {
    if (function == 0) return {};
    lua_Debug activation;
    lua_rawgeti(state_, LUA_REGISTRYINDEX, function);
    lua_getinfo(state_, ">S", &activation);
    // A function of a lib has another text.
    if (std::string_view(activation.short_src) != chunk()) return {};
    return table_.scan.uses(key, activation.linedefined, parameter, list);
  }

  // Lua's name for this file, taken from the rule's own functions.
  std::string chunk() {
    if (!chunk_.empty()) return chunk_;
    lua_Debug activation;
    lua_rawgeti(state_, LUA_REGISTRYINDEX,
                rule_.rewrite != 0 ? rule_.rewrite : rule_.where);
    lua_getinfo(state_, ">S", &activation);
    return chunk_ = activation.short_src;
  }

  void check_writes(const SourceScan::Uses& uses) {
    for (const SourceScan::Use& use : uses.writes) {
      if (bound_.contains(use.name) || unbound_.contains(use.name) ||
          is_reserved_name(use.name)) {
        fail_at(state_, table_, use.line,
                {.what = fmt::format(
                     "m.{} is assigned, but `match` declares it", use.name),
                 .hint = "choose another name"});
      }
      if (written_.insert(use.name).second) known_.push_back(use.name);
    }
  }

  // A parameter of `replace` must be one of `match`, or a name that `where`
  // assigns.
  void check_parameters(const Replacement& replacement) {
    for (const std::string& name : replacement.computed) {
      if (written_.contains(name)) continue;
      fail_at(
          state_, table_, replacement.line,
          {.what = fmt::format("parameter '{}' of `replace` is no parameter of "
                               "`match`, and `where` does not assign it",
                               printable(name, 60)),
           .hint = suggestion(name, known_)});
    }
  }

  void check_read(const SourceScan::Use& use) {
    if (bound_.contains(use.name) || written_.contains(use.name) ||
        is_reserved_name(use.name)) {
      return;
    }
    if (unbound_.contains(use.name)) {
      fail_at(state_, table_, use.line,
              {.what = fmt::format("m.{} is read, but no branch of `match` "
                                   "binds it",
                                   use.name),
               .hint = fmt::format(
                   "a variable is bound by its use as an input, an "
                   "attribute or a dimension; a node gets a name by :as "
                   "\"{}\"",
                   use.name)});
    }
    fail_at(
        state_, table_, use.line,
        {.what = fmt::format("m.{} is read, but nothing has the name '{}'",
                             printable(use.name, 60), printable(use.name, 60)),
         .hint = suggestion(use.name, known_)});
  }

  // Lua calls no metamethod to compare a value with a number: they are
  // different.
  void check_compared(const SourceScan::Comparison& one) {
    for (const pattern::Variable& variable : rule_.pattern->variables()) {
      const bool value = variable.kind == pattern::VariableKind::kValue;
      const bool node = variable.kind == pattern::VariableKind::kNode;
      if (variable.name != one.name || (!value && !node)) continue;
      if (one.field.empty()) return refuse_object(one, value);
      refuse_field(one, value ? HandleKind::kValue : HandleKind::kNode);
    }
  }

  void refuse_object(const SourceScan::Comparison& one, bool value) {
    fail_at(
        state_, table_, one.line,
        {.what = fmt::format("m.{0} is compared with {1}, which a {2} "
                             "never equals",
                             one.name, literal(one), value ? "value" : "node"),
         .hint = value ? fmt::format("m.{}:scalar() is the number of a "
                                     "constant",
                                     one.name)
                       : fmt::format("m.{0} is nil where its branch was "
                                     "not taken; m.{0}.op is its op",
                                     one.name)});
  }

  void refuse_field(const SourceScan::Comparison& one, HandleKind kind) {
    const bool value = kind == HandleKind::kValue;
    if (value && one.field == "shape") {
      fail_at(state_, table_, one.line,
              {.what = fmt::format("m.{}.shape is compared with {}, which a "
                                   "shape never equals",
                                   one.name, literal(one)),
               .hint = fmt::format("m.{}:shape \"2 3\" tests the dimensions",
                                   one.name)});
    }
    if (value && one.field == "dtype" &&
        ir::data_type_from_name(one.literal) == ir::DataType::kUndefined) {
      fail_at(state_, table_, one.line,
              {.what = fmt::format("m.{}.dtype is compared with {}, which is "
                                   "no element type",
                                   one.name, literal(one)),
               .hint = ir::data_type_hint(one.literal)});
    }
    if (is_method(Host::of(state_), state_, kind, one.field)) {
      fail_at(
          state_, table_, one.line,
          {.what = fmt::format("m.{}.{} is compared with {}, but {} is a "
                               "method",
                               one.name, one.field, literal(one), one.field),
           .hint = fmt::format("write m.{}:{}(...)", one.name, one.field)});
    }
  }

  static std::string literal(const SourceScan::Comparison& one) {
    return one.literal == "{" ? "a table" : printable(one.literal, 40);
  }

  void check_option(const SourceScan::Use& use) {
    if (options_.contains(use.name)) return;
    fail_at(state_, table_, use.line,
            {.what = fmt::format("the rule has no option '{}'",
                                 printable(use.name, 60)),
             .hint = suggestion(use.name, names_of(options_))});
  }

  lua_State* state_;
  const RuleTable& table_;
  const LoadedRule& rule_;
  const DeclaredOptions& options_;
  std::string chunk_;
  std::set<std::string> bound_, unbound_, written_;
  std::vector<std::string> known_;  // for "did you mean"
};

}  // namespace

void check_comparisons(lua_State* state, const RuleTable& table,
                       FunctionRef match) {
  lua_Debug activation;
  lua_rawgeti(state, LUA_REGISTRYINDEX, match);
  lua_getinfo(state, ">S", &activation);
  for (const SourceScan::Comparison& one :
       table.scan.comparisons("match", activation.linedefined)) {
    fail_at(state, table, one.line,
            {.what = fmt::format("'{}' is compared with {}, which a pattern "
                                 "never equals",
                                 one.name, printable(one.literal, 40)),
             .hint = "write a number in the pattern itself, as in "
                     "op.Mul(x, 1); `where` can test matched values"});
  }
}

void check_reads(lua_State* state, const RuleTable& table, LoadedRule& rule,
                 const DeclaredOptions& options) {
  if (!rule.pattern) return;
  ReadsCheck check(state, table, rule, options);
  check.run();
  rule.computed.assign(check.written().begin(), check.written().end());
}

}  // namespace ruleengine::lua
