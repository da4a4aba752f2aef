// `examples`: the title, the graph before, and the expected outcome.
#include <fmt/format.h>

#include <algorithm>
#include <lua.hpp>
#include <utility>

#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "core/base/suggest.h"

namespace ruleengine::lua {
namespace {

constexpr std::size_t kMaxExampleFile = std::size_t{4} << 20;
constexpr int kMaxExamples = 10'000;

// Reads one example at the top of the stack.
class ExampleReader {
 public:
  ExampleReader(lua_State* state, const RuleTable& table, int line,
                const DeclaredOptions& options, bool lint)
      : state_(state),
        table_(table),
        line_(line),
        options_(options),
        lint_(lint) {}

  Example read() {
    if (!lua_istable(state_, -1)) {
      fail("an example is not a table", "{title, before, after}");
    }
    check_keys();
    Example example{.line = line_};
    example.title = text(1, "the title").value_or("");
    if (example.title.empty()) fail("an example has no title", "");
    const std::optional<std::string> file = text("file");
    int place = 2;
    if (file) {
      read_before(*file, example);
    } else {
      example.before = text(place++, "the graph before").value_or("");
    }
    example.after = text(place, "the nodes after");
    example.rejected = text("rejected");
    example.warned = text("warned");
    example.assumed = text("assumed");
    example.matches = flag("matches");
    example.changes_meaning = flag("changes_meaning").value_or(false);
    if (lua_objlen(state_, -1) > static_cast<std::size_t>(place)) {
      fail("an example has too many texts", "{title, before, after}");
    }
    if (example.before.empty()) fail("an example has no graph", "");
    check_outcome(example);
    read_options_of(example);
    return example;
  }

 private:
  void fail(std::string what, std::string expected, std::string hint = {}) {
    fail_at(state_, table_, line_,
            {.what = std::move(what),
             .expected = std::move(expected),
             .hint = std::move(hint)});
  }

  void check_keys() {
    for (const std::string& key : string_keys(state_, -1)) {
      if (std::ranges::binary_search(kExampleKeys, key)) continue;
      fail(fmt::format("an example has no key '{}'", printable(key, 60)), "",
           suggestion(key, kExampleKeys));
    }
  }

  std::optional<std::string> take(const std::string& what) {
    std::optional<std::string> text;
    if (lua_type(state_, -1) == LUA_TSTRING) {
      text = take_text(state_, table_, -1, line_);
    } else if (!lua_isnil(state_, -1)) {
      fail(what + " of an example is not a text", "");
    }
    lua_pop(state_, 1);
    return text;
  }
  std::optional<std::string> text(int place, const char* what) {
    lua_rawgeti(state_, -1, place);
    return take(what);
  }
  std::optional<std::string> text(const char* key) {
    lua_getfield(state_, -1, key);
    return take(fmt::format("`{}`", key));
  }

  // Reads a file of the rule's own folder, which must not be a link out of it.
  void read_before(const std::string& name, Example& example) {
    namespace fs = std::filesystem;
    const fs::path folder = table_.real.parent_path();
    const bool plain = name.find('/') == name.npos &&
                       name.find('\0') == name.npos && name != ".." &&
                       name != "." && !name.empty();
    RuleStore& store = table_.loader.store();
    auto real = plain ? store.real(folder / name) : std::optional<fs::path>();
    if (!real || !*real || (*real)->parent_path() != folder) {
      fail(fmt::format("`file` of an example: '{}'", printable(name, 100)),
           "a file in the folder of the rule");
    }
    Result<std::optional<std::string>> found =
        store.read(**real, kMaxExampleFile);
    if (!found) fail(found.error().what, found.error().expected);
    if (!*found) fail("the file of an example was deleted", "");
    take_bytes(state_, table_, (*found)->size(), line_);
    example.before = std::move(**found);
    example.file = (*real)->string();
  }

  void check_outcome(const Example& example) {
    const bool after = example.after.has_value();
    const bool rejected = example.rejected.has_value();
    if (lint_) return check_outcome_of_lint(example);
    if (example.matches) {
      fail("`matches` in an example of a rule that is not a lint",
           "the nodes after, rejected = reason, or warned = text");
    }
    if (!after && !rejected && !example.warned) {
      fail("an example has no outcome",
           "the nodes after, rejected = reason, or warned = text");
    }
    if (after && rejected) {
      fail("an example expects both a rewrite and a rejection", "one of them");
    }
    if (example.assumed && !after) {
      fail("an example has `assumed` and no nodes after", "the nodes after");
    }
  }

  void check_outcome_of_lint(const Example& example) {
    const bool said = example.matches || example.rejected || example.warned;
    if (said && !example.after && !example.assumed) return;
    fail(
        said ? "an example of a lint expects a rewrite or an assumption"
             : "an example has no outcome",
        "matches = true, matches = false, rejected = reason, or warned = text");
  }

  std::optional<bool> flag(const char* key) {
    lua_getfield(state_, -1, key);
    std::optional<bool> out;
    if (lua_isboolean(state_, -1)) out = lua_toboolean(state_, -1) != 0;
    const bool other = !out && !lua_isnil(state_, -1);
    lua_pop(state_, 1);
    if (other) fail(fmt::format("`{}` of an example", key), "true or false");
    return out;
  }

  void read_options_of(Example& example) {
    lua_getfield(state_, -1, "options");
    if (!lua_isnil(state_, -1)) {
      for (auto& [name, option] : read_options(state_, table_, "rule")) {
        const auto declared = options_.find(name);
        if (declared == options_.end()) {
          fail(fmt::format("the rule has no option '{}'", name), "",
               suggestion(name, names_of(options_)));
        } else if (!option.value || option.type != declared->second.type) {
          fail(fmt::format("option '{}' of an example", name),
               fmt::format("a {}", option_type_name(declared->second.type)));
        } else {
          example.options.emplace(name, *option.value);
        }
      }
    }
    lua_pop(state_, 1);
  }

  lua_State* state_;
  const RuleTable& table_;
  int line_;
  const DeclaredOptions& options_;
  bool lint_;
};

}  // namespace

std::vector<Example> read_examples(lua_State* state, const RuleTable& table,
                                   const DeclaredOptions& options, bool lint) {
  const int line = table.scan.key_line("rule", "examples");
  if (!lua_istable(state, -1) || lua_objlen(state, -1) > kMaxExamples) {
    fail_at(state, table, line,
            {.what = "`examples` is not a list of examples"});
  }
  const std::vector<int> lines = table.scan.element_lines("rule", "examples");
  std::vector<Example> examples;
  const int size = static_cast<int>(lua_objlen(state, -1));
  if (!string_keys(state, -1).empty()) {
    fail_at(
        state, table, line,
        {.what = "`examples` must be a list of tables, one for each example"});
  }
  for (int i = 1; i <= size; ++i) {
    const auto at = static_cast<std::size_t>(i) - 1;
    lua_rawgeti(state, -1, i);
    examples.push_back(ExampleReader(state, table,
                                     at < lines.size() ? lines[at] : line,
                                     options, lint)
                           .read());
    lua_pop(state, 1);
  }
  return examples;
}

}  // namespace ruleengine::lua
