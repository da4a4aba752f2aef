#include "bindings/lua/code/code_objects.h"

#include <algorithm>
#include <utility>

#include "bindings/lua/sandbox/table_keys.h"

namespace ruleengine::lua {

using code::found_at;
using code::line_of;

namespace {

int bad_name(lua_State* state, const std::string& key) {
  return Sandbox::fail(state, "the name of '" + printable(key, 60) + "'",
                       "\"node\" or {\"node\", \"output\", ...}");
}

}  // namespace

// names { add = "/Add", y = {"node", "a", "b"} }
void CodeNames::read(lua_State* state, code::Budget& budget) {
  if (!lua_istable(state, 1)) {
    Sandbox::fail(state, "`names` expects a table", "names { add = \"/Add\" }",
                  found_at(state, 1));
  }
  for (const std::string& key : string_keys(state, 1)) {
    lua_getfield(state, 1, key.c_str());
    budget.take(state, 256 + key.size());
    budget.take_at(state, lua_gettop(state));
    Given given{.line = std::max(1, line_of(state))};
    if (lua_type(state, -1) == LUA_TSTRING) {
      given.node = text_at(state, -1);
    } else if (lua_istable(state, -1)) {
      given.outputs.emplace();
      const auto size = static_cast<int>(lua_objlen(state, -1));
      for (int i = 1; i <= size; ++i) {
        lua_rawgeti(state, -1, i);
        if (lua_type(state, -1) != LUA_TSTRING) bad_name(state, key);
        if (i == 1) given.node = text_at(state, -1);
        if (i > 1) given.outputs->emplace_back(text_at(state, -1));
        lua_pop(state, 1);
      }
    } else {
      bad_name(state, key);
    }
    lua_pop(state, 1);
    names_[key] = std::move(given);
  }
}

Status CodeNames::apply(CodeRecord& record, const std::string& file) {
  std::size_t used = 0;
  for (CodeBlock& block : record.blocks) {
    for (CodeNode& node : block.nodes) {
      const auto first = std::ranges::find_if(
          node.outputs,
          [&record](std::size_t id) { return !record.values[id].absent; });
      if (first == node.outputs.end()) continue;
      const auto at = names_.find(record.values[*first].name);
      if (at == names_.end() || at->first.empty()) continue;
      ++used;
      apply_to(at->second, node, record);
      at->second.line = 0;
    }
  }
  if (used == names_.size()) return {};
  for (const auto& [name, given] : names_) {
    if (given.line == 0) continue;
    return Diagnostic{.kind = ErrorKind::kRule,
                      .what = "`names` has '" + printable(name, 60) +
                              "', which is not the first output of any node",
                      .where = file + ":" + std::to_string(given.line)};
  }
  return {};
}

void CodeNames::apply_to(const Given& given, CodeNode& node,
                         CodeRecord& record) {
  node.name = given.node;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    CodeValue& value = record.values[node.outputs[i]];
    if (value.absent) continue;
    if (!given.outputs) {
      value.name = given.node + "_output_" + std::to_string(i);
    } else if (i < given.outputs->size() && !(*given.outputs)[i].empty()) {
      value.name = (*given.outputs)[i];
    }
  }
}

}  // namespace ruleengine::lua
