#include "bindings/lua/callbacks/replace_pattern.h"

#include <algorithm>
#include <functional>
#include <lua.hpp>
#include <utility>
#include <vector>

#include "bindings/lua/callbacks/bound_value.h"
#include "bindings/lua/callbacks/match_value.h"
#include "bindings/lua/callbacks/replacer.h"
#include "bindings/lua/callbacks/results.h"
#include "bindings/lua/nodes/handle.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "core/ir/order.h"
#include "core/match/machine.h"

namespace ruleengine::lua {
namespace {

// All matches of one call. A node is taken once. Nodes that were taken stay in
// the graph until the pass ends, so that the rule can query the matches that
// are returned.
class Round {
 public:
  Round(Runtime& rt, lua_State* state, const Words::Built& built)
      : rt_(rt),
        state_(state),
        built_(built),
        graph_(*rt.session.graph),
        taken_(graph_.node_count(), false) {}

  // Leaves the list of matches on the stack.
  int run() {
    const pattern::Pattern* const pattern = &built_.pattern;
    const match::Program program = match::compile({&pattern, 1});
    match::Machine machine(program, graph_, *rt_.session.facts);
    auto order = ir::topological_order(graph_);
    if (!order) return fail(rt_, order.error());
    push_list(rt_, state_, 0);
    list_ = lua_gettop(state_);
    std::vector<match::Match> found;
    for (const ir::NodeId root : *order) {
      Sandbox::charge(state_, 16);
      if (!machine.may_match(root)) continue;
      found.clear();
      machine.run(root, {}, found);
      if (machine.exhausted()) {
        return fail(rt_, "replace_pattern searches too long", {},
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
    rt_.session.edit->set_block(graph_.node(match.root).block);
    rt_.session.edit->set_rank(rank);
    Result<std::optional<rewrite::Rejection>> replaced =
        std::optional<rewrite::Rejection>();
    build(match, replaced);
    if (rt_.session.rejection) {
      rt_.session.rejection.reset();
      return true;
    }
    if (rt_.session.error) return false;
    if (!replaced) {
      fail(rt_, std::move(replaced.error()));
      return false;
    }
    if (*replaced) return true;
    for (const ir::NodeId node : match.consumed) {
      if (node.index() < taken_.size()) taken_[node.index()] = true;
    }
    rt_.session.changed = true;
    const match::Match* const its = &match;
    rt_.session.edit->claim(built_.pattern, {&its, 1});
    tell(match);
    return true;
  }

  // In a stack frame of its own: replace_results() reads the whole stack.
  void build(const match::Match& match,
             Result<std::optional<rewrite::Rejection>>& replaced) {
    const std::function<void(lua_State*)> task = [&](lua_State* state) {
      Replacer replacer(rt_, state, *built_.replacement, match, 0);
      if (replacer.push_results()) {
        replaced = replace_results(rt_, state, false);
      }
    };
    struct Frame {
      Runtime& rt;
      const std::function<void(lua_State*)>* before;
      ~Frame() {
        rt.task = before;
        rt.session.members.pop_back();
        rt.session.not_taken.clear();  // the names are the pattern's
      }
    } frame{rt_, rt_.task};
    FunctionRef computed = 0;
    rt_.session.members.push_back({&match, &computed});
    rt_.task = &task;
    lua_rawgeti(state_, LUA_REGISTRYINDEX, rt_.runner);
    lua_call(state_, 0, 0);
  }

  // {anchor = node, nodes = {...}, values = {...}}: nodes by index in the order
  // of the pattern and by name, values by the names of the parameters.
  void tell(const match::Match& match) {
    lua_createtable(state_, 0, 3);
    const int told = lua_gettop(state_);
    push_node(rt_, state_, match.root);
    lua_setfield(state_, told, "anchor");
    lua_createtable(state_, static_cast<int>(match.nodes.size()), 4);
    lua_createtable(state_, 0, 4);
    int count = 0;
    for (const ir::NodeId node : match.nodes) {
      if (!node) continue;
      push_node(rt_, state_, node);
      lua_rawseti(state_, told + 1, ++count);
    }
    const std::vector<pattern::Variable>& variables =
        built_.pattern.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const bool tag = variables[i].kind == pattern::VariableKind::kNode;
      push_bound(rt_, state_, built_.pattern, pattern::VariableId(i),
                 match.bound[i]);
      lua_setfield(state_, told + (tag ? 1 : 2), variables[i].name.c_str());
    }
    lua_setfield(state_, told, "values");
    lua_setfield(state_, told, "nodes");
    lua_rawseti(state_, list_, static_cast<int>(lua_objlen(state_, list_)) + 1);
  }

  Runtime& rt_;
  lua_State* state_;
  const Words::Built& built_;
  ir::Graph& graph_;
  std::vector<bool> taken_;
  int list_ = 0;
};

// Sets the stage to that of a rule file being loaded, while a pattern is
// described.
struct Describing {
  explicit Describing(Runtime& runtime) : rt(runtime) {
    rt.session.stage = Stage::kNone;
  }
  ~Describing() { rt.session.stage = Stage::kPass; }
  Describing(const Describing&) = delete;
  Describing& operator=(const Describing&) = delete;

  Runtime& rt;
};

bool check_function(Runtime& rt, lua_State* state, int index,
                    const char* what) {
  if (lua_isfunction(state, index) && !lua_iscfunction(state, index)) {
    return true;
  }
  fail(rt, std::string(what) + " of replace_pattern is not a function",
       "function(op, x, ...)", kind_of(state, index));
  return false;
}

// Upvalue: the Words.
int replace_pattern(Runtime& rt, lua_State* state) {
  if (rt.session.stage != Stage::kPass) {
    return fail(rt, "`replace_pattern` works only in `pass`", {}, {},
                "rule{match = pattern, replace = replacement} does the same");
  }
  if (check_handle(rt, state, 1, HandleKind::kGraph,
                   "argument 1 of replace_pattern") == nullptr ||
      !check_function(rt, state, 2, "the pattern") ||
      !check_function(rt, state, 3, "the replacement")) {
    return kFailed;
  }
  lua_settop(state, 3);
  auto& words =
      *static_cast<Words*>(lua_touserdata(state, lua_upvalueindex(2)));
  const Words::Built built = [&] {
    const Describing describing(rt);
    return words.build(state, 2, rt.session.frame->rule->file,
                       rt.session.frame->rule->line, 3);
  }();
  if (!built.replacement->computed.empty()) {
    return fail(rt, "the replacement has a parameter '" +
                        built.replacement->computed[0] +
                        "' that the pattern does not have");
  }
  return Round(rt, state, built).run();
}

}  // namespace

void install_replace_pattern(lua_State* state, Words& words) {
  lua_pushlightuserdata(state, &words);
  push_function(state, Runtime::of(state), entry<replace_pattern>, 1);
  lua_setfield(state, -2, "replace_pattern");
}

}  // namespace ruleengine::lua
