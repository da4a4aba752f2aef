// Builds what `replace` describes.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bindings/lua/callbacks/match_value.h"
#include "bindings/lua/callbacks/results.h"
#include "bindings/lua/nodes/build.h"
#include "bindings/lua/nodes/node_api.h"
#include "bindings/lua/rule_file.h"
#include "bindings/lua/words/float_word.h"

namespace ruleengine::lua {
namespace {

using pattern::AttributePattern;
using pattern::NodePattern;
using pattern::Term;
using pattern::TermId;
using pattern::TermKind;

// Into the table on top.
void set_numbers(lua_State* state, const std::vector<double>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    lua_pushnumber(state, numbers[i]);
    lua_rawseti(state, -2, static_cast<int>(i) + 1);
  }
}

class Replacer {
 public:
  Replacer(Host& host, lua_State* state, const Replacement& replacement,
           const match::Match& match, FunctionRef computed)
      : host_(host),
        state_(state),
        made_(replacement),
        match_(match),
        computed_(computed) {}

  bool push_results() {
    for (const TermId result : made_.results) {
      luaL_checkstack(state_, 4, "results");
      if (!push(result)) return false;
    }
    return true;
  }

 private:
  using Values = std::vector<ir::ValueId>;

  void push_variable(pattern::VariableId id) {
    if (id.index() < made_.shared_variables) {
      const match::Bound& bound = match_.bound[id.index()];
      if (bound.kind == match::Bound::Kind::kNothing) {
        host_.session.not_taken.push_back(made_.draft[id].name);
      }
      return push_bound(host_, state_, made_.draft, id, bound);
    }
    if (computed_ == 0) return lua_pushnil(state_);
    lua_rawgeti(state_, LUA_REGISTRYINDEX, computed_);
    lua::push(state_, made_.draft[id].name);
    lua_rawget(state_, -2);
    lua_remove(state_, -2);
    if (!lua_islightuserdata(state_, -1)) return;  // computed as nil
    lua_pop(state_, 1);
    lua_pushnil(state_);
  }

  bool push(TermId id) {
    const Term& term = made_.draft[id];
    switch (term.kind) {
      case TermKind::kVariable:
      case TermKind::kRest:
        push_variable(term.variable);
        return true;
      case TermKind::kNumbers:
        if (term.scalar) {
          lua_pushnumber(state_, term.numbers.at(0));
        } else {
          lua_createtable(state_, static_cast<int>(term.numbers.size()), 0);
          set_numbers(state_, term.numbers);
        }
        return true;
      case TermKind::kTranspose: {
        const auto& bound =
            match_.bound[made_.draft[term.base].variable.index()];
        push_constant(host_, state_, bound.value, !bound.transposed);
        return true;
      }
      case TermKind::kOutput: {
        const Values* values = values_of(term.node);
        if (values == nullptr) return false;
        push_value(host_, state_, values->at(term.output));
        return true;
      }
      case TermKind::kContext:
        return push(term.base);
      case TermKind::kEither:
        return push_taken(term);
      default:
        lua_pushnil(state_);
        return true;
    }
  }

  // The branch that the match took.
  bool push_taken(const Term& term) {
    for (const pattern::Alternative& each : term.alternatives) {
      if (is_taken(each.term)) return push(each.term);
    }
    lua_pushnil(state_);
    return true;
  }

  bool is_taken(TermId id) {
    const Term& term = made_.draft[id];
    switch (term.kind) {
      case TermKind::kVariable:
        return match_.bound[term.variable.index()].kind !=
               match::Bound::Kind::kNothing;
      case TermKind::kOutput:
        return static_cast<bool>(match_.nodes[term.node.index()]);
      case TermKind::kContext:
        return is_taken(term.base);
      case TermKind::kEither: {
        const auto at = taken_.find(id.index());
        if (at != taken_.end()) return at->second;
        return taken_[id.index()] = std::ranges::any_of(
                   term.alternatives,
                   [this](const auto& each) { return is_taken(each.term); });
      }
      default:
        return true;
    }
  }

  const Values* values_of(pattern::NodePatternId id) {
    const auto [at, is_new] = built_.try_emplace(id.index());
    if (!is_new) return &at->second;
    const ir::Graph& graph = *host_.session.graph;
    const NodePattern& node = made_.draft[id];
    const ir::NodeId matched = id.index() < made_.shared_nodes
                                   ? match_.nodes[id.index()]
                                   : ir::NodeId();
    if (matched) {
      const auto outputs = graph.outputs(matched);
      at->second.assign(outputs.begin(), outputs.end());
    } else {
      ir::NodeId kept;
      if (const pattern::VariableId tag = made_.kept(node)) {
        kept = match_.bound[tag.index()].node;
      }
      if (!build(node, kept, at->second)) {
        auto& error = host_.session.error;
        if (error && error->where.empty()) {
          error->where =
              host_.session.frame->rule->file + ":" + std::to_string(node.line);
        }
        return nullptr;
      }
    }
    at->second.resize(
        std::max<std::size_t>(at->second.size(), node.output_count));
    return &at->second;
  }

  // Sets the inputs in the table; `any` is the old input of the kept node.
  bool push_inputs(const NodePattern& node, ir::NodeId kept, int table,
                   bool& changed) {
    Values old;
    if (kept) {
      const auto inputs = read_node(host_, kept).inputs;
      old.assign(inputs.begin(), inputs.end());
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId was = i < old.size() ? old[i] : ir::ValueId();
      if (kept && made_.draft[node.inputs[i]].kind == TermKind::kAny) {
        push_value(host_, state_, was);
      } else {
        if (!push(node.inputs[i])) return false;
        const Handle* handle = to_handle(host_, state_, -1);
        const bool same = handle == nullptr
                              ? lua_isnil(state_, -1) && !was
                              : was && handle->kind == HandleKind::kValue &&
                                    !handle->transposed &&
                                    handle->value() == was;
        changed = changed || !same;
      }
      lua_rawseti(state_, table, static_cast<int>(i) + 1);
    }
    return true;
  }

  // Without a schema, an attribute keeps the kind it had in the match.
  void push_captured(const NodePattern& node, pattern::VariableId id) {
    push_variable(id);
    if (lua_type(state_, -1) != LUA_TNUMBER ||
        id.index() >= made_.shared_variables ||
        ops::newest_op(node.domain, node.type) != nullptr) {
      return;
    }
    const match::Bound& bound = match_.bound[id.index()];
    if (bound.kind == match::Bound::Kind::kAttribute &&
        bound.attribute->kind == ir::AttributeKind::kFloat) {
      lua_pop(state_, 1);
      push_float(host_, state_, bound.attribute->f);
    }
  }

  bool push_attribute_of(const NodePattern& node,
                         const AttributePattern& attribute) {
    using Kind = AttributePattern::Kind;
    switch (attribute.kind) {
      case Kind::kInt:
        lua_pushnumber(state_, static_cast<double>(attribute.i));
        return true;
      case Kind::kFloat:
        push_float(host_, state_, attribute.f);
        return true;
      case Kind::kString:
        lua::push(state_, attribute.s);
        return true;
      case Kind::kInts:
        lua_createtable(state_, static_cast<int>(attribute.ints.size()), 0);
        set_numbers(state_, {attribute.ints.begin(), attribute.ints.end()});
        return true;
      case Kind::kFloats:
        push_list(host_, state_, static_cast<int>(attribute.floats.size()),
                  ListKind::kFloats);
        set_numbers(state_, attribute.floats);
        return true;
      case Kind::kStrings:
        lua_createtable(state_, static_cast<int>(attribute.strings.size()), 0);
        for (std::size_t i = 0; i < attribute.strings.size(); ++i) {
          lua::push(state_, attribute.strings[i]);
          lua_rawseti(state_, -2, static_cast<int>(i) + 1);
        }
        return true;
      case Kind::kVariable:
        push_captured(node, attribute.variable);
        return true;
      case Kind::kAny:
        return false;
    }
    return false;
  }

  bool build(const NodePattern& node, ir::NodeId kept, Values& out) {
    luaL_checkstack(state_, 8, "nodes in nodes");
    lua_createtable(state_, static_cast<int>(node.inputs.size()), 4);
    const int table = lua_gettop(state_);
    bool changed = false;
    if (!push_inputs(node, kept, table, changed)) return false;
    for (const AttributePattern& attribute : node.attributes) {
      if (!push_attribute_of(node, attribute)) continue;
      lua_setfield(state_, table, attribute.name.c_str());
      changed = true;
    }
    if (kept && !changed) {
      const auto outputs = host_.session.graph->outputs(kept);
      out.assign(outputs.begin(), outputs.end());
      lua_settop(state_, table - 1);
      return true;
    }
    if (!kept && node.output_count > 1) {
      lua_pushnumber(state_, node.output_count);
      lua_setfield(state_, table, "outputs");
    }
    const int count =
        kept ? build_like(host_, state_, kept, table)
             : build_op(host_, state_, node.domain, node.type, table);
    if (count < 0) return false;
    for (int i = 0; i < count; ++i) {
      const Handle* handle = to_handle(host_, state_, i - count);
      out.push_back(handle == nullptr ? ir::ValueId() : handle->value());
    }
    lua_settop(state_, table - 1);
    return true;
  }

  Host& host_;
  lua_State* state_;
  const Replacement& made_;
  const match::Match& match_;
  FunctionRef computed_;
  std::map<std::uint32_t, Values> built_;
  std::map<std::uint32_t, bool> taken_;  // each `either`, once
};

}  // namespace

bool push_replacement(Host& host, lua_State* state,
                      const Replacement& replacement, const match::Match& match,
                      FunctionRef computed) {
  return Replacer(host, state, replacement, match, computed).push_results();
}

}  // namespace ruleengine::lua
