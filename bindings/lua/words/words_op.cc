// op.Add(a, b), op.Transpose{x, perm = {...}}, op.domain.Type(...): node
// patterns.
#include <fmt/format.h>

#include <cstring>
#include <lua.hpp>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "bindings/lua/words/words_session.h"
#include "core/base/whole.h"

namespace ruleengine::lua {
namespace {

using pattern::NodePattern;
using pattern::TermId;

// Limits for one node of a pattern: each input and output becomes a step of the
// compiled program.
constexpr int kMostInputs = 250;
constexpr int kMostOutputs = 250;

// --- the words inside of a node's table ---

void check_open(lua_State* state, const char* word, int index, bool& open) {
  if (!is_any(state, index)) {
    Sandbox::fail(
        state, std::string("wrong `") + word + "` of a node",
        std::string(word) + " = any" +
            (std::strcmp(word, "outputs") == 0 ? ", or a number" : ""),
        kind_at(state, index));
  }
  open = true;
}

void set_outputs(lua_State* state, NodePattern& node, int index) {
  if (lua_type(state, index) != LUA_TNUMBER) {
    check_open(state, "outputs", index, node.open_outputs);
    return;
  }
  const double count = lua_tonumber(state, index);
  if (!(count >= 1 && count <= kMostOutputs) || !is_whole(count)) {
    Sandbox::fail(state, "wrong number of outputs of a node",
                  "outputs = 1 to " + std::to_string(kMostOutputs));
  }
  node.output_count = static_cast<std::uint32_t>(count);
}

int bad_permutations(lua_State* state) {
  return Sandbox::fail(
      state, "wrong `perms` of a node",
      "a list of permutations of all inputs, such as {{1, 2}, {2, 1}}");
}

// One order at the top of the stack, counted from 1 in Lua.
std::vector<std::uint32_t> check_permutation(lua_State* state,
                                             std::size_t inputs) {
  if (!lua_istable(state, -1) || lua_objlen(state, -1) != inputs) {
    bad_permutations(state);
  }
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(inputs);
  for (std::size_t i = 1; i <= inputs; ++i) {
    lua_rawgeti(state, -1, static_cast<int>(i));
    const double at = lua_tonumber(state, -1);
    if (!is_whole(at) || at < 1 || at > static_cast<double>(inputs) ||
        seen[static_cast<std::size_t>(at) - 1]) {
      bad_permutations(state);
    }
    seen[static_cast<std::size_t>(at) - 1] = true;
    order.push_back(static_cast<std::uint32_t>(at) - 1);
    lua_pop(state, 1);
  }
  return order;
}

void set_permutations(lua_State* state, WordsSession& session,
                      NodePattern& node, int index) {
  if (!lua_istable(state, index)) bad_permutations(state);
  const std::size_t count = lua_objlen(state, index);
  if (count == 0 || count > 1000) bad_permutations(state);
  spend(state, session, count * node.inputs.size() * 8);
  for (std::size_t i = 1; i <= count; ++i) {
    lua_rawgeti(state, index, static_cast<int>(i));
    node.permutations.push_back(check_permutation(state, node.inputs.size()));
    lua_pop(state, 1);
  }
}

// The highest index of the array part; holes are absent inputs.
int highest_index(lua_State* state, const TableKeys& keys) {
  const auto refuse = [&](std::string found) {
    Sandbox::fail(state, "a node has an input at an invalid index",
                  "whole numbers from 1", std::move(found));
  };
  if (!keys.other.empty()) refuse(keys.other);
  for (const double at : keys.numbers) {
    if (!is_whole(at) || at < 1 || at > kMostInputs) {
      refuse(fmt::format("the number {}", at));
    }
  }
  return keys.numbers.empty() ? 0 : static_cast<int>(keys.numbers.back());
}

void set_named(lua_State* state, WordsSession& session, NodePattern& node,
               std::string_view name, int index) {
  if (name == "outputs") {
    set_outputs(state, node, index);
  } else if (name == "inputs") {
    check_open(state, "inputs", index, node.open_inputs);
  } else if (name == "attrs") {
    check_open(state, "attrs", index, node.open_attributes);
  } else if (name == "perms") {
    set_permutations(state, session, node, index);
  } else {
    node.attributes.push_back(
        check_attribute(state, session, node, name, index));
  }
}

void read_table(lua_State* state, WordsSession& session, NodePattern& node,
                int table) {
  const TableKeys keys = table_keys(state, table);
  const int inputs = highest_index(state, keys);
  for (int i = 1; i <= inputs; ++i) {
    lua_rawgeti(state, table, i);
    node.inputs.push_back(
        check_input(state, session, lua_gettop(state), "an input"));
    lua_pop(state, 1);
  }
  for (const std::string& name : keys.names) {
    push_field(state, table, name);
    set_named(state, session, node, name, lua_gettop(state));
    lua_pop(state, 1);
  }
}

// --- op ---

int op_call(lua_State* state) {
  WordsSession& session = session_of(state);
  const OpHandle* op = to_op(state, 1);
  if (op == nullptr || op->run != session.run || op->type[0] == '\0') {
    return Sandbox::fail(state, "an op is called as op.Add(a, b)");
  }
  NodePattern node{.domain = op->domain, .type = op->type};
  node.line = rule_line(state, session);
  spend(state, session, 1024);
  const int given = lua_gettop(state) - 1;
  if (given == 1 && lua_istable(state, 2)) {
    read_table(state, session, node, 2);
  } else {
    if (given > kMostInputs) {
      return Sandbox::fail(state, node.op_text() + " with too many inputs");
    }
    for (int i = 2; i <= given + 1; ++i) {
      node.inputs.push_back(check_input(state, session, i, "an input"));
    }
  }
  const std::uint32_t outputs = node.output_count;
  Result<pattern::NodePatternId> made = session.builder.node(std::move(node));
  if (!made) {
    made.error().where.clear();
    return Sandbox::fail(state, made.error());
  }
  luaL_checkstack(state, static_cast<int>(outputs), "too many outputs");
  spend(state, session, outputs * std::size_t{256});
  for (std::uint32_t i = 0; i < outputs; ++i) {
    push_term(state, session, session.builder.output(*made, i));
  }
  return static_cast<int>(outputs);
}

// op.X: X is a domain if another name follows, a type if a call follows.
int op_index(lua_State* state) {
  WordsSession& session = session_of(state);
  const OpHandle* op = to_op(state, 1);
  const std::string_view name = string_at(state, 2).value_or("");
  if (op == nullptr || op->run != session.run || name.empty()) {
    return Sandbox::fail(state, "an op is named as op.Add");
  }
  std::string domain = op->domain;
  if (op->type[0] != '\0') {
    if (!domain.empty()) domain += '.';
    domain += op->type;
  }
  OpHandle next{.run = session.run};
  if (domain.size() >= sizeof next.domain || name.size() >= sizeof next.type ||
      name.find('\0') != name.npos) {
    return Sandbox::fail(state, "the name of an op is too long");
  }
  std::memcpy(next.domain, domain.data(), domain.size());
  std::memcpy(next.type, name.data(), name.size());
  push_op(state, next);
  return 1;
}

int op_newindex(lua_State* state) {
  return Sandbox::fail(state, "ops cannot be changed");
}

constexpr luaL_Reg kOpMethods[] = {{"__call", op_call},
                                   {"__index", op_index},
                                   {"__newindex", op_newindex},
                                   {nullptr, nullptr}};

}  // namespace

void install_op(lua_State* state, Words& words) {
  luaL_newmetatable(state, kOpMetatable);
  set_words(state, words, kOpMethods);
  refuse_operators(state, words, "an op");
  lua_pop(state, 1);
}

}  // namespace ruleengine::lua
