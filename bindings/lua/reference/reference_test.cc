#include "bindings/lua/reference.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <lua.hpp>
#include <set>
#include <string>

#include "bindings/lua/callbacks/callback_words.h"
#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/reference/page.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "bindings/lua/session/handle.h"
#include "bindings/lua/words/words_session.h"

namespace ruleengine::lua {
namespace {

using Names = std::set<std::string>;

Names words_of(std::string_view name) {
  Names out;
  for (const Word& word : words()) {
    if (word.of == name) out.emplace(word.name);
  }
  return out;
}

// The keys of the table on top of the stack.
Names keys_of(lua_State* state) {
  const TableKeys keys = table_keys(state, lua_gettop(state));
  return {keys.names.begin(), keys.names.end()};
}

// The fields of the metatable on top of the stack.
Names fields_of(lua_State* state) {
  lua_getfield(state, -1, "__index");
  REQUIRE(lua_getupvalue(state, -1, 2) != nullptr);
  Names out = keys_of(state);
  lua_pop(state, 2);
  return out;
}

template <typename List>
Names set_of(const List& list) {
  return {list.begin(), list.end()};
}

TEST_CASE("the table has exactly the words that rule files have") {
  Words words;
  auto sandbox = Sandbox::create({});
  REQUIRE(sandbox.ok());
  const Status done = (*sandbox)->protect([&](lua_State* state) {
    lua_newtable(state);
    words.install(state);
    install_callback_words(state, words);
    Names known = keys_of(state);
    CHECK(known.erase("op") == 0);
    known.insert({"rule", "pack", "lib"});  // the loader adds them
    CHECK(known == words_of(""));

    luaL_getmetatable(state, kTermMetatable);
    Names facts = fields_of(state);
    facts.insert("T");
    CHECK(facts == words_of("re.Pattern"));

    const Host& host = Host::of(state);
    const auto fields = [&](HandleKind kind) {
      lua_rawgeti(state, LUA_REGISTRYINDEX,
                  host.metatables[static_cast<std::size_t>(kind)].reference);
      return fields_of(state);
    };
    CHECK(fields(HandleKind::kValue) == words_of("re.Value"));
    CHECK(fields(HandleKind::kNode) == words_of("re.Node"));
    CHECK(fields(HandleKind::kDim) == words_of("re.Dim"));
    CHECK(fields(HandleKind::kGraph) == words_of("re.Graph"));
    CHECK(fields(HandleKind::kGroup) == words_of("re.Matches"));
  });
  CHECK(done.ok());
  CHECK(set_of(kRuleKeys) == words_of("re.Rule"));
  CHECK(set_of(kPackKeys) == words_of("re.Pack"));
  CHECK(set_of(kExampleKeys) == words_of("re.Example"));
  for (const Word& word : lua::words()) {
    CHECK_MESSAGE(std::ranges::find(word_classes(), word.of,
                                    &WordClass::name) != word_classes().end(),
                  word.of);
  }
}

constexpr const char* kPage = R"(# A page

Some text about `need(v, reason)`, on
two lines. See [here](#words).

## Words

| word | meaning |
|---|---|
| `need(v, reason)` | Returns **v**. |
| `:rank()`, `x:rank(4)` | The number of `a | b`. |

```lua
need(code)
```

    need(code)

- **`needed`** is another word.
- an item that names `op.need`,
  and goes on
)";

TEST_CASE("a page is read as rows, items and paragraphs") {
  const auto blocks = read_page(kPage);
  REQUIRE(blocks.size() == 5);
  CHECK(blocks[0].text ==
        "Some text about `need(v, reason)`, on two lines. See [here](#words).");
  CHECK(plain_text(blocks[0].text) ==
        "Some text about `need(v, reason)`, on two lines. See here.");
  CHECK(blocks[1].heading == "Words");
  CHECK(blocks[1].form == "`need(v, reason)`");
  CHECK(plain_text(blocks[1].text) == "Returns v.");
  CHECK(blocks[2].text == "The number of `a | b`.");
  CHECK(defined_words(blocks[2]) ==
        std::vector<std::string_view>{"rank", "rank"});
  CHECK(defined_words(blocks[3]) == std::vector<std::string_view>{"needed"});
  CHECK(blocks[4].text == "an item that names `op.need`, and goes on");
  CHECK(mentions(blocks[0], "need"));
  CHECK(!mentions(blocks[3], "need"));
  CHECK(mentions(blocks[4], "need"));
}

TEST_CASE("a reference begins with what defines the word") {
  const PageText page{"page.md", kPage};
  const Reference found = reference_of("m.need", {&page, 1});
  REQUIRE(found.types.size() == 1);
  CHECK(found.types[0].starts_with("need<T>(value: T?, reason?: string"));
  REQUIRE(found.passages.size() == 3);
  CHECK(found.passages[0].text == "Returns v.");
  CHECK(found.passages[1].heading == "A page");
  CHECK(reference_of("rank", {&page, 1}).types ==
        std::vector<std::string>{"re.Pattern:rank(axes: integer): re.Pattern",
                                 "re.Value:rank(): integer?",
                                 "re.Value:rank(axes: integer): boolean"});
  CHECK(reference_of("Softmax", {}).types ==
        std::vector<std::string>{"op.Softmax <axis = -1> (input) -> output"});
  CHECK(reference_of("re.Pattern:rank", {&page, 1}).types.size() == 1);
  for (const char* word : {"nothing", "1", "op[\"a\"]", "m.", "a b"}) {
    CAPTURE(word);
    const Reference none = reference_of(word, {&page, 1});
    CHECK(none.passages.empty());
    CHECK(none.types.empty());
  }
  CHECK(reference_of("", {&page, 1}).passages.empty());
}

TEST_CASE("stubs need a meaning for every word") {
  const PageText page{"page.md", kPage};
  const auto stubs = language_stubs({&page, 1});
  REQUIRE(!stubs);
  CHECK(stubs.error().found.find("re.Value.dims") != std::string::npos);
  CHECK(stubs.error().found.find("need") == std::string::npos);
}

}  // namespace
}  // namespace ruleengine::lua
