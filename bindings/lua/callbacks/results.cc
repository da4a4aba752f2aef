#include "bindings/lua/callbacks/results.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/lua/nodes/build_inputs.h"
#include "core/base/layout.h"

namespace ruleengine::lua {
namespace {

using rewrite::Rejection;

Diagnostic wrong_count(std::string expected, std::string found) {
  return wrong("`rewrite` returns the wrong number of results",
               std::move(expected), std::move(found),
               "op.Split{..., outputs = 2} returns two values");
}

class Results {
 public:
  Results(Host& host, lua_State* state) : host_(host), state_(state) {}

  // The results of the only member.
  Status read_stack(const match::Match& match) {
    for (std::size_t i = 0; i < match.results.size(); ++i) {
      const int place = static_cast<int>(i) + 1;
      if (Status s = read(match, i, place); !s) return s;
    }
    return {};
  }

  // One member of a group: a value, or a table of the pattern's results.
  Status read_member(const match::Match& match, int index) {
    if (!lua_istable(state_, index)) {
      if (match.results.size() == 1) return read(match, 0, index);
      return wrong_count("a table of " +
                             counted(match.results.size(), "result") +
                             " for each match",
                         kind_of(state_, index));
    }
    if (lua_objlen(state_, index) > match.results.size()) {
      return wrong_count(
          counted(match.results.size(), "result") + " for each match",
          std::to_string(lua_objlen(state_, index)));
    }
    for (std::size_t i = 0; i < match.results.size(); ++i) {
      lua_rawgeti(state_, index, static_cast<int>(i) + 1);
      Status status = read(match, i, lua_gettop(state_));
      lua_pop(state_, 1);
      if (!status) return status;
    }
    return {};
  }

  Ended apply() {
    if (rejection_) return std::move(rejection_);
    const rewrite::Edit& edit = *host_.session.edit;
    const bool nothing_new =
        std::ranges::all_of(replacements_, [&](const auto& each) {
          return edit.repeats(each.first, each.second);
        });
    if (nothing_new && !host_.session.changed) {
      return Rejection{"the rewrite changes nothing", ""};
    }
    for (const auto& [from, to] : replacements_) {
      host_.session.edit->replace(from, to);
    }
    return std::nullopt;
  }

 private:
  Status read(const match::Match& match, std::size_t place, int index) {
    const ir::ValueId old_value = match.results[place];
    if (!old_value) return {};  // the node leaves this output out
    if (lua_isnoneornil(state_, index)) {
      if (read_outside(match, old_value) && !rejection_) {
        rejection_ = Rejection{"nothing replaces a result that is still read",
                               ir::describe(*host_.session.graph,
                                            *host_.session.facts, old_value)};
      }
      return {};
    }
    ir::ValueId value;
    const Handle* handle = to_handle(host_, state_, index);
    if (handle == nullptr || handle->kind != HandleKind::kValue) {
      Result<ir::ValueId> made = constant(old_value, place, index);
      if (!made) return made.error();
      value = *made;
    } else if (!check_alive(host_, *handle)) {
      return *std::exchange(host_.session.error, {});
    } else {
      value = value_in(*host_.session.edit, *handle);
    }
    if (value && value != old_value) {
      replacements_.emplace_back(old_value, value);
    }
    return {};
  }

  // A number or a list of numbers and dimensions, as a constant of the type it
  // replaces. Invalid after a rejection.
  Result<ir::ValueId> constant(ir::ValueId old_value, std::size_t place,
                               int index) {
    const bool numbers =
        lua_type(state_, index) == LUA_TNUMBER || lua_istable(state_, index);
    const ir::Type* type = host_.session.facts->type(old_value);
    const std::string name = "result " + std::to_string(place + 1);
    if (!numbers || type == nullptr || !type->is_tensor()) {
      return wrong(name + " of `rewrite` is not a value",
                   "a value, or nil for a result that is not read",
                   kind_of(state_, index),
                   to_handle(host_, state_, index, HandleKind::kNode) != nullptr
                       ? "n.outputs[1] is the first value of node n"
                       : "");
    }
    BuildInputs inputs(host_, state_, nullptr, name);
    inputs.expect(type->elem);
    std::vector<ir::ValueId> made;
    if (inputs.add(index) && inputs.finish(made) && made.size() == 1) {
      return made[0];
    }
    if (host_.session.rejection) {
      rejection_ = std::exchange(host_.session.rejection, {});
      return ir::ValueId();
    }
    if (host_.session.error) return *std::exchange(host_.session.error, {});
    return wrong(name + " of `rewrite` is a list of values", "one value");
  }

  // Whether nodes that are not removed with the match read the value.
  bool read_outside(const match::Match& match, ir::ValueId value) const {
    const ir::Graph& graph = *host_.session.graph;
    if (graph.value(value).block_output_count > 0) return true;
    for (ir::OperandId u = graph.first_use(value); u; u = graph.next_use(u)) {
      const ir::NodeId user = graph.operand(u).user;
      if (!std::ranges::binary_search(match.consumed, user)) return true;
    }
    return false;
  }

  Host& host_;
  lua_State* state_;
  std::vector<std::pair<ir::ValueId, ir::ValueId>> replacements_;
  Ended rejection_;
};

// Group members' results are the values themselves, or one list of them.
Status read_group(Results& results, Host& host, lua_State* state,
                  std::size_t count) {
  const std::vector<Member>& members = host.session.members;
  const bool listed = count == 1 && members.size() > 1 && lua_istable(state, 1);
  const std::size_t given = listed ? lua_objlen(state, 1) : count;
  if (given != members.size()) {
    return wrong_count(
        "one for each of " + std::to_string(members.size()) + " matches",
        std::to_string(given));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (listed) {
      lua_rawgeti(state, 1, static_cast<int>(i) + 1);
    } else {
      lua_pushvalue(state, static_cast<int>(i) + 1);
    }
    Status status = results.read_member(*members[i].match, lua_gettop(state));
    lua_pop(state, 1);
    if (!status) return status;
  }
  return {};
}

}  // namespace

Result<Ended> replace_results(Host& host, lua_State* state, bool group) {
  const auto count = static_cast<std::size_t>(lua_gettop(state));
  Results results(host, state);
  Status status;
  luaL_checkstack(state, 8, "results");
  if (group) {
    status = read_group(results, host, state, count);
  } else {
    const match::Match& match = *host.session.members[0].match;
    if (count != match.results.size()) {
      return wrong_count(
          "as many as `match`: " + std::to_string(match.results.size()),
          std::to_string(count));
    }
    status = results.read_stack(match);
  }
  if (!status) return status.error();
  return results.apply();
}

}  // namespace ruleengine::lua
