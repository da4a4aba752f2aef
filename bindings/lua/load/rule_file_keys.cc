// Reads the table of `rule{...}` and of `pack{...}`, key by key.
#include <fmt/format.h>

#include <algorithm>
#include <lua.hpp>
#include <utility>

#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_globals.h"
#include "bindings/lua/sandbox/stack.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "core/base/suggest.h"

namespace ruleengine::lua {
namespace {

// A table and the line of each of its keys.
class Keys {
 public:
  Keys(lua_State* state, const RuleTable& table, const char* word)
      : state_(state), table_(table), word_(word), index_(lua_gettop(state)) {}

  int line(const char* key) const {
    const int found = table_.scan.key_line(word_, key);
    return found > 0 ? found : table_.line;
  }
  int fail(const char* key, Diagnostic error) const {
    return fail_at(state_, table_, line(key), std::move(error));
  }
  int fail_type(const char* key, const char* expected) const {
    return fail(key, wrong(fmt::format("`{}` of a {}", key, word_), expected,
                           fmt::format("a {}", luaL_typename(state_, -1))));
  }

  // Pushes the value; false (and nothing pushed) if there is none.
  bool push(const char* key) const {
    lua_pushstring(state_, key);
    lua_rawget(state_, index_);
    if (!lua_isnil(state_, -1)) return true;
    lua_pop(state_, 1);
    return false;
  }

  std::optional<std::string> string(const char* key) const {
    if (!push(key)) return {};
    if (lua_type(state_, -1) != LUA_TSTRING) fail_type(key, "a text");
    std::string text = take_text(state_, table_, -1, line(key));
    lua_pop(state_, 1);
    return text;
  }

  FunctionRef function(const char* key) const {
    if (!push(key)) return 0;
    if (!lua_isfunction(state_, -1) || lua_iscfunction(state_, -1)) {
      fail_type(key, "a function of this file");
    }
    return luaL_ref(state_, LUA_REGISTRYINDEX);
  }

  // Raises for unknown keys, and for list elements unless `list`.
  void check_known(std::span<const std::string_view> known, bool list) const {
    const TableKeys keys = table_keys(state_, index_);
    for (const std::string& key : keys.names) {
      if (std::ranges::find(known, key) != known.end()) continue;
      fail(key.c_str(),
           wrong(fmt::format("a {} has no key '{}'", word_, printable(key, 60)),
                 {}, {}, suggestion(key, known)));
    }
    if (list || (keys.numbers.empty() && keys.other.empty())) return;
    fail_at(state_, table_, table_.line,
            wrong(fmt::format("a {} has a list element", word_), {}, {},
                  "write `key = value`"));
  }

 private:
  lua_State* state_;
  const RuleTable& table_;
  const char* word_;
  int index_;
};

// --- single keys ---

bool is_rule_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyz"
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "0123456789_-") == name.npos;
}

std::string read_name(const Keys& keys, const RuleTable& table) {
  const std::optional<std::string> given = keys.string("name");
  const std::string name =
      given ? *given : std::filesystem::path(table.file).stem().string();
  if (is_rule_name(name)) return name;
  Diagnostic error = wrong(
      fmt::format("'{}' is not a valid name of a rule", printable(name, 60)));
  error.expected = "letters, digits, _ and -";
  if (!given) error.hint = "set one with `name = `";
  keys.fail("name", std::move(error));
  return {};
}

// The name of the rule's folder, for instance "attention".
std::string rule_folder(const std::filesystem::path& real) {
  const std::string folder = real.parent_path().filename().string();
  return is_rule_name(folder) ? folder : "rules";
}

rewrite::Phase default_phase(const std::filesystem::path& real) {
  const std::filesystem::path folder = real.parent_path();
  const std::string name = folder.filename().string();
  if (name == "sequence_parallel") return rewrite::Phase::kParallel;
  if (name == "targets" || folder.parent_path().filename() == "targets") {
    return rewrite::Phase::kTarget;
  }
  return rewrite::phase_from_name(name).value_or(rewrite::Phase::kConversion);
}

rewrite::Phase read_phase(const Keys& keys, const RuleTable& table) {
  const std::optional<std::string> name = keys.string("phase");
  if (!name) return default_phase(table.real);
  if (const auto phase = rewrite::phase_from_name(*name)) return *phase;
  keys.fail("phase", wrong(fmt::format("no phase '{}'", printable(*name, 60)),
                           {}, {}, suggestion(*name, rewrite::phase_names())));
  return {};
}

std::vector<std::string> read_after(lua_State* state, const Keys& keys,
                                    const RuleTable& table) {
  std::vector<std::string> names;
  if (!keys.push("after")) return names;
  const auto take = [&](int at) {
    if (lua_type(state, at) != LUA_TSTRING) {
      keys.fail_type("after", "names of rules");
    }
    names.push_back(take_text(state, table, at, table.line));
    return true;
  };
  if (lua_istable(state, -1)) {
    all_elements(state, -1, lua_objlen(state, -1), take);
  } else {
    take(-1);
  }
  lua_pop(state, 1);
  return names;
}

std::vector<std::pair<std::string, std::string>> read_meta(
    lua_State* state, const Keys& keys, const RuleTable& table) {
  std::vector<std::pair<std::string, std::string>> meta;
  if (!keys.push("meta")) return meta;
  if (!lua_istable(state, -1)) keys.fail_type("meta", "{key = value}");
  for (const std::string& key : string_keys(state, -1)) {
    if (key.starts_with("ruleengine.")) {
      keys.fail("meta", wrong("keys of `meta` that begin with ruleengine. are "
                              "reserved for the program"));
    }
    lua_getfield(state, -1, key.c_str());
    const int type = lua_type(state, -1);
    if (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN) {
      keys.fail_type("meta", "texts, numbers or booleans as values");
    }
    push_text(state, -1);
    meta.emplace_back(key, take_text(state, table, -1, table.line));
    lua_pop(state, 2);
  }
  lua_pop(state, 1);
  return meta;
}

bool read_flag(lua_State* state, const Keys& keys, const char* key) {
  if (!keys.push(key)) return false;
  if (!lua_isboolean(state, -1)) keys.fail_type(key, "true or false");
  const bool flag = lua_toboolean(state, -1) != 0;
  lua_pop(state, 1);
  return flag;
}

// `changes_meaning`: true, or how far the outputs may move.
std::optional<rewrite::Deviation> read_deviation(lua_State* state,
                                                 const Keys& keys) {
  constexpr const char* kKey = "changes_meaning";
  constexpr const char* kExpected =
      "true, false, or a tolerance such as {abs = 1e-2, rel = 1e-3}";
  if (!keys.push(kKey)) return {};
  if (!lua_istable(state, -1)) {
    if (!lua_isboolean(state, -1)) keys.fail_type(kKey, kExpected);
    const bool changes = lua_toboolean(state, -1) != 0;
    lua_pop(state, 1);
    return changes ? std::optional(rewrite::Deviation()) : std::nullopt;
  }
  const TableKeys given = table_keys(state, -1);
  if (!given.numbers.empty() || !given.other.empty() || given.names.empty()) {
    keys.fail_type(kKey, kExpected);
  }
  rewrite::Deviation out{.abs = 0, .rel = 0};
  for (const std::string& name : given.names) {
    const bool is_abs = name == "abs";
    if (!is_abs && name != "rel") {
      keys.fail(kKey, wrong(fmt::format("`{}` has no key '{}'", kKey,
                                        printable(name, 60)),
                            "abs, rel"));
    }
    push_field(state, lua_gettop(state), name);
    const bool is_number = lua_type(state, -1) == LUA_TNUMBER;
    const double bound = is_number ? lua_tonumber(state, -1) : -1;
    if (!(bound >= 0 && bound < rewrite::Deviation::kAny)) {
      keys.fail(kKey, wrong(fmt::format("`{}` of `{}`", name, kKey),
                            "a finite number from 0 on"));
    }
    (is_abs ? out.abs : out.rel) = bound;
    lua_pop(state, 1);
  }
  lua_pop(state, 1);
  return out;
}

// --- combinations of keys ---

// A lint rewrites nothing, so it has no keys for rewriting.
void check_lint(const Keys& keys, const LoadedRule& rule, bool replace) {
  const std::pair<const char*, bool> kBuild[] = {
      {"rewrite", rule.rewrite != 0},
      {"replace", replace},
      {"pass", rule.pass != 0},
      {"together", rule.together != 0},
      {"meta", !rule.meta.empty()},
      {"changes_meaning", rule.changes_meaning.has_value()}};
  for (const auto& [key, there] : kBuild) {
    if (!there) continue;
    keys.fail(key, wrong(fmt::format("a lint has `{}`", key), {}, {},
                         "a rule with `lint = true` only reports its matches "
                         "and builds nothing"));
  }
}

void check_callbacks(const Keys& keys, const LoadedRule& rule, bool match,
                     bool replace) {
  const auto refuse = [&](const char* key, std::string what) {
    keys.fail(key, wrong(std::move(what)));
  };
  if (rule.pass != 0) {
    if (match) {
      refuse("pass", "a rule has both `match` and `pass`; write two rules");
    }
    if (rule.where != 0) refuse("where", "`where` without `match`");
    if (rule.rewrite != 0) refuse("rewrite", "`rewrite` without `match`");
    if (replace) refuse("replace", "`replace` without `match`");
    if (rule.together != 0) refuse("together", "`together` without `match`");
    return;
  }
  if (!match) refuse("match", "the rule has no `match`");
  if (replace && rule.rewrite != 0) {
    refuse("replace", "a rule has both `replace` and `rewrite`; give one");
  }
  if (replace && rule.together != 0) {
    refuse("together", "`together` needs `rewrite`, not `replace`");
  }
  if (!replace && rule.rewrite == 0 && !rule.lint) {
    keys.fail("rewrite",
              wrong("the rule has no `rewrite`", {}, {},
                    "add `lint = true` if the rule only reports its matches"));
  }
}

// Runs `match`, and `replace` on the result.
void read_pattern(lua_State* state, const RuleTable& table, FunctionRef match,
                  FunctionRef replace, LoadedRule& rule) {
  check_comparisons(state, table, match);
  lua_rawgeti(state, LUA_REGISTRYINDEX, match);
  lua_rawgeti(state, LUA_REGISTRYINDEX, replace);
  const int top = lua_gettop(state);
  Words::Built built = table.loader.words().build(
      state, top - 1, table.file, table.line, replace != 0 ? top : 0);
  lua_pop(state, 2);
  luaL_unref(state, LUA_REGISTRYINDEX, match);
  luaL_unref(state, LUA_REGISTRYINDEX, replace);
  rule.pattern = std::move(built.pattern);
  rule.parameters = std::move(built.parameters);
  rule.replacement = std::move(built.replacement);
}

}  // namespace

RuleInLoad read_rule(lua_State* state, const RuleTable& table) {
  const Keys keys(state, table, "rule");
  keys.check_known(kRuleKeys, false);
  RuleInLoad load{.rule = std::make_unique<LoadedRule>(), .real = table.real};
  LoadedRule& rule = *load.rule;
  rule.name = read_name(keys, table);
  rule.qualified = rule_folder(table.real) + "/" + rule.name;
  rule.file = table.file;
  rule.line = table.line;
  rule.doc = keys.string("doc").value_or("");
  rule.phase = read_phase(keys, table);
  rule.after = read_after(state, keys, table);
  rule.meta = read_meta(state, keys, table);
  rule.changes_meaning = read_deviation(state, keys);
  rule.lint = read_flag(state, keys, "lint");
  if (rule.changes_meaning) {
    load.changes_meaning_line = keys.line("changes_meaning");
  }
  if (keys.push("options")) {
    load.options = read_options(state, table, "rule");
    lua_pop(state, 1);
  }
  const FunctionRef match = keys.function("match");
  rule.where = keys.function("where");
  rule.rewrite = keys.function("rewrite");
  rule.together = keys.function("together");
  rule.when = keys.function("when");
  rule.pass = keys.function("pass");
  const FunctionRef replace = keys.function("replace");
  // A lib may call `need`.
  rule.unconditional = !rule.lint && rule.where == 0 && rule.together == 0 &&
                       rule.when == 0 && !table.scan.mentions("need") &&
                       !table.scan.mentions("assume") &&
                       !table.scan.mentions("lib");
  if (rule.lint) check_lint(keys, rule, replace != 0);
  check_callbacks(keys, rule, match != 0, replace != 0);
  if (match != 0) read_pattern(state, table, match, replace, rule);
  check_reads(state, table, rule, load.options);
  check_calls(state, table, rule.rewrite);
  if (keys.push("body")) {
    rule.bodies = read_bodies(state, table);
    lua_pop(state, 1);
  }
  if (keys.push("examples")) {
    rule.examples = read_examples(state, table, load.options, rule.lint);
    lua_pop(state, 1);
  }
  return load;
}

LoadedPack read_pack(lua_State* state, const RuleTable& table) {
  const Keys keys(state, table, "pack");
  keys.check_known(kPackKeys, true);
  LoadedPack pack{.name = std::filesystem::path(table.file).stem().string(),
                  .file = table.file,
                  .doc = keys.string("doc").value_or(""),
                  .real = table.real,
                  .line = table.line};
  if (keys.push("options")) {
    pack.options = read_options(state, table, "pack");
    lua_pop(state, 1);
  }
  const std::vector<int> lines = table.scan.element_lines("pack", "");
  const int size = static_cast<int>(lua_objlen(state, -1));
  for (int i = 1; i <= size; ++i) {
    const auto at = static_cast<std::size_t>(i) - 1;
    const int line = at < lines.size() ? lines[at] : table.line;
    lua_rawgeti(state, -1, i);
    const std::string path = lua_type(state, -1) == LUA_TSTRING
                                 ? take_text(state, table, -1, line)
                                 : "";
    lua_pop(state, 1);
    const std::filesystem::path parts(path);
    if (path.empty() || parts.is_absolute() || path.ends_with(".lua") ||
        path.find('\0') != path.npos) {
      fail_at(state, table, line,
              wrong("an element of a pack is not a path",
                    "the path of a rule from the pack's folder, as "
                    "\"attention/my_rule\"",
                    path.empty() ? "" : quoted_name(path, 100)));
    }
    pack.entries.push_back({path, line});
  }
  if (pack.entries.empty()) {
    fail_at(state, table, table.line, wrong("the pack has no rule"));
  }
  return pack;
}

}  // namespace ruleengine::lua
