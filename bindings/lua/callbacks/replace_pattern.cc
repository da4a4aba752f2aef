#include "bindings/lua/callbacks/callback_words.h"

#include <algorithm>
#include <functional>
#include <lua.hpp>
#include <utility>
#include <vector>

#include "bindings/lua/callbacks/match_value.h"
#include "bindings/lua/callbacks/results.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/session/handle.h"
#include "core/ir/order.h"
#include "core/match/machine.h"

namespace ruleengine::lua {
namespace {

// All matches of one call. A node is taken once. Nodes that were taken stay in
// the graph until the pass ends, so that the rule can query the matches that
// are returned.
class Round {
 public:
  Round(Host& host, lua_State* state, const Words::Built& built)
      : host_(host),
        state_(state),
        built_(built),
        graph_(*host.session.graph),
        taken_(graph_.node_count(), false) {}

  // Leaves the list of matches on the stack.
  int run() {
    const pattern::Pattern* const pattern = &built_.pattern;
    const match::Program program = match::compile({&pattern, 1});
    match::Machine machine(program, graph_, *host_.session.facts);
    auto order = ir::topological_order(graph_);
    if (!order) return fail(host_, order.error());
    push_list(host_, state_, 0);
    list_ = lua_gettop(state_);
    std::vector<match::Match> found;
    for (const ir::NodeId root : *order) {
      Sandbox::charge(state_, 16);
      if (!machine.may_match(root)) continue;
      found.clear();
      machine.run(root, {}, found);
      if (machine.exhausted()) {
        return fail(host_, "replace_pattern searches too long", {},
                    graph_.describe(root));
      }
      if (found.empty() || is_taken(found[0])) continue;
      if (!replace(found[0])) return kFailed;
    }
    lua_settop(state_, list_);
    return 1;
  }

 private:
  bool is_taken(const match::Match& match) const {
    return std::ranges::any_of(match.consumed, [&](ir::NodeId node) {
      return node.index() < taken_.size() && taken_[node.index()];
    });
  }

  // False after a fail(). A match that cannot be replaced stays as it is.
  bool replace(const match::Match& match) {
    std::uint64_t rank = graph_.node(match.root).rank;
    for (const ir::ValueId value : match.results) {
      if (const ir::NodeId p = graph_.producer(value)) {
        rank = std::min(rank, graph_.node(p).rank);
      }
    }
    host_.session.edit->set_block(graph_.node(match.root).block);
    host_.session.edit->set_rank(rank);
    Result<Ended> replaced = Ended();
    build(match, replaced);
    if (host_.session.rejection) {
      host_.session.rejection.reset();
      return true;
    }
    if (host_.session.error) return false;
    if (!replaced) return fail(host_, std::move(replaced.error()));
    if (*replaced) return true;
    for (const ir::NodeId node : match.consumed) {
      if (node.index() < taken_.size()) taken_[node.index()] = true;
    }
    host_.session.changed = true;
    const match::Match* const its = &match;
    host_.session.edit->claim(built_.pattern, {&its, 1});
    tell(match);
    return true;
  }

  // In a stack frame of its own: replace_results() reads the whole stack.
  void build(const match::Match& match, Result<Ended>& replaced) {
    const std::function<void(lua_State*)> task = [&](lua_State* state) {
      if (push_replacement(host_, state, *built_.replacement, match, 0)) {
        replaced = replace_results(host_, state, false);
      }
    };
    struct Frame {
      Host& host;
      const std::function<void(lua_State*)>* before;
      ~Frame() {
        host.task = before;
        host.session.members.pop_back();
        host.session.not_taken.clear();  // the names are the pattern's
      }
    } frame{host_, host_.task};
    FunctionRef computed = 0;
    host_.session.members.push_back({&match, &computed});
    host_.task = &task;
    lua_rawgeti(state_, LUA_REGISTRYINDEX, host_.runner);
    lua_call(state_, 0, 0);
  }

  // {anchor = node, nodes = {...}, values = {...}}: nodes by index in the order
  // of the pattern and by name, values by the names of the parameters.
  void tell(const match::Match& match) {
    lua_createtable(state_, 0, 3);
    const int told = lua_gettop(state_);
    push_node(host_, state_, match.root);
    lua_setfield(state_, told, "anchor");
    lua_createtable(state_, static_cast<int>(match.nodes.size()), 4);
    lua_createtable(state_, 0, 4);
    int count = 0;
    for (const ir::NodeId node : match.nodes) {
      if (!node) continue;
      push_node(host_, state_, node);
      lua_rawseti(state_, told + 1, ++count);
    }
    const std::vector<pattern::Variable>& variables =
        built_.pattern.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const bool tag = variables[i].kind == pattern::VariableKind::kNode;
      push_bound(host_, state_, built_.pattern, pattern::VariableId(i),
                 match.bound[i]);
      lua_setfield(state_, told + (tag ? 1 : 2), variables[i].name.c_str());
    }
    lua_setfield(state_, told, "values");
    lua_setfield(state_, told, "nodes");
    lua_rawseti(state_, list_, static_cast<int>(lua_objlen(state_, list_)) + 1);
  }

  Host& host_;
  lua_State* state_;
  const Words::Built& built_;
  ir::Graph& graph_;
  std::vector<bool> taken_;
  int list_ = 0;
};

bool check_function(Host& host, lua_State* state, int index, const char* what) {
  if (lua_isfunction(state, index) && !lua_iscfunction(state, index)) {
    return true;
  }
  return fail(host, std::string(what) + " of replace_pattern is not a function",
              "function(op, x, ...)", kind_of(state, index));
}

}  // namespace

// Upvalue: the Words.
int replace_pattern(Host& host, lua_State* state) {
  if (host.session.stage != Stage::kPass) {
    return fail(host, "`replace_pattern` works only in `pass`", {}, {},
                "rule{match = pattern, replace = replacement} does the same");
  }
  if (check_handle(host, state, 1, HandleKind::kGraph,
                   "argument 1 of replace_pattern") == nullptr ||
      !check_function(host, state, 2, "the pattern") ||
      !check_function(host, state, 3, "the replacement")) {
    return kFailed;
  }
  lua_settop(state, 3);
  auto& words =
      *static_cast<Words*>(lua_touserdata(state, lua_upvalueindex(2)));
  const Words::Built built = [&] {
    // As while a rule file is being loaded.
    struct Describing {
      Stage& stage;
      ~Describing() { stage = Stage::kPass; }
    } describing{host.session.stage};
    describing.stage = Stage::kNone;
    return words.build(state, 2, host.session.frame->rule->file,
                       host.session.frame->rule->line, 3);
  }();
  if (!built.replacement->computed.empty()) {
    return fail(host, "the replacement has a parameter '" +
                          built.replacement->computed[0] +
                          "' that the pattern does not have");
  }
  return Round(host, state, built).run();
}

}  // namespace ruleengine::lua
