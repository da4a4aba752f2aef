#include "bindings/lua/callbacks/callback_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/lua/callbacks/match_value.h"
#include "bindings/lua/nodes/build.h"
#include "bindings/lua/nodes/node_api.h"
#include "bindings/lua/nodes/value_api.h"
#include "bindings/lua/rule_file.h"
#include "bindings/lua/words/float_word.h"
#include "core/ir/model.h"
#include "core/rewrite/driver.h"

namespace ruleengine::lua {
namespace {

// The root of the current match; invalid when there is none.
ir::NodeId current_root(const Host& host) {
  if (host.session.members.empty()) return {};
  return host.session.members[0].match->root;
}

bool check_stage(Host& host, const char* word, bool where_only) {
  const Stage stage = host.session.stage;
  const bool good =
      stage == Stage::kWhere ||
      (!where_only && (stage == Stage::kTogether || stage == Stage::kRewrite ||
                       stage == Stage::kPass));
  if (good) return true;
  return fail(host,
              std::string("`") + word + "` works only in " +
                  (where_only ? "`where`" : "`where` and `rewrite`"),
              {}, {},
              stage == Stage::kNone
                  ? "`match` only describes: state it as a fact "
                    "or a pattern, or test it in `where`"
                  : "");
}

// A value, node, dimension, number or text as the culprit of a rejection.
bool describe_culprit(Host& host, lua_State* state, int index,
                      std::string& out) {
  if (lua_isnoneornil(state, index)) return true;
  if (lua_isstring(state, index) != 0) {
    out = printable(lua_tostring(state, index));
    return true;
  }
  const Handle* handle = to_handle(host, state, index);
  if (handle == nullptr) {
    out = kind_of(state, index);
    return true;
  }
  if (!check_alive(host, *handle)) return false;
  const ir::Graph& graph = *host.session.graph;
  switch (handle->kind) {
    case HandleKind::kValue:
      out = ir::describe(graph, *host.session.facts, handle->value());
      break;
    case HandleKind::kNode:
      out = graph.describe(handle->node());
      break;
    case HandleKind::kDim:
      out = shortened(graph.model().dims.text(handle->dim));
      break;
    default:
      out = handle_name(handle->kind);
  }
  return true;
}

// Reads the reason at `index`; false after a fail().
bool read_reason(Host& host, lua_State* state, int index, const char* word,
                 std::string& out) {
  const auto text = string_at(state, index);
  if (!text) {
    return fail(host, std::string("`") + word + "` wants a reason", "a string",
                kind_of(state, index));
  }
  out = printable(*text, 500);
  return true;
}

// "M=B" for sizes at the two places of which the first is a named one and would
// have to be the other; else "".
std::string tie_at(Host& host, lua_State* state, int named, int other) {
  const ir::DimTable& dims = host.session.graph->model().dims;
  const auto text = [&](int index) -> std::string {
    const Handle* handle = to_handle(host, state, index);
    if (handle == nullptr || handle->kind != HandleKind::kDim) return {};
    const bool is_named =
        dims.is_single(handle->dim) && !dims.is_fresh(handle->dim);
    return is_named ? std::string(dims.text(handle->dim)) : std::string();
  };
  const std::string left = text(named);
  const std::string right = lua_type(state, other) == LUA_TNUMBER
                                ? fmt::format("{}", lua_tonumber(state, other))
                                : text(other);
  return left.empty() || right.empty() ? "" : left + "=" + right;
}

// need(v, reason, culprit, size, other): returns v, or ends the match when v is
// nil or false.
int need(Host& host, lua_State* state) {
  if (!check_stage(host, "need", false)) return kFailed;
  if (lua_isfunction(state, 1)) {
    return fail(host, "`need` wants a condition", "a value", "a function",
                "a method is called with `:` and brackets: m.x:scalar()");
  }
  if (lua_toboolean(state, 1) != 0) {
    lua_settop(state, 1);
    return 1;
  }
  std::string reason, culprit;
  if (!read_reason(host, state, 2, "need", reason) ||
      !describe_culprit(host, state, 3, culprit)) {
    return kFailed;
  }
  return reject(host, rewrite::Rejection{.reason = std::move(reason),
                                         .value = std::move(culprit),
                                         .tie = tie_at(host, state, 4, 5)});
}

bool is_matched(const match::Match& match, ir::NodeId node) {
  return std::ranges::find(match.consumed, node) != match.consumed.end() ||
         std::ranges::find(match.nodes, node) != match.nodes.end();
}

// The node that a warning names: the node that is given, or the producer of the
// value that is given if the match contains it, else the root. `culprit`
// describes what is given, for the rejection.
bool warned_node(Host& host, lua_State* state, int index, ir::NodeId& node,
                 std::string& culprit) {
  const ir::Graph& graph = *host.session.graph;
  node = current_root(host);
  culprit = graph.describe(node);
  const Handle* handle = to_handle(host, state, index);
  if (lua_isnoneornil(state, index)) return true;
  if (handle == nullptr || (handle->kind != HandleKind::kNode &&
                            handle->kind != HandleKind::kValue)) {
    return fail(host, "`refuse` names a node", "m.TAG", kind_of(state, index));
  }
  if (!check_alive(host, *handle)) return false;
  if (handle->kind == HandleKind::kNode) {
    node = handle->node();
    culprit = graph.describe(node);
    return true;
  }
  culprit = ir::describe(graph, *host.session.facts, handle->value());
  const ir::NodeId maker = graph.producer(handle->value());
  if (maker && is_matched(*host.session.members[0].match, maker)) node = maker;
  return true;
}

// refuse(cond, reason, m.TAG, allowed): adds a warning when `cond` is true and
// continues. The match is dropped when `where` ends, unless `allowed` is true.
int refuse(Host& host, lua_State* state) {
  if (!check_stage(host, "refuse", true)) return kFailed;
  if (lua_toboolean(state, 1) == 0) return 0;
  std::string reason, culprit;
  ir::NodeId node;
  if (!read_reason(host, state, 2, "refuse", reason) ||
      !warned_node(host, state, 3, node, culprit)) {
    return kFailed;
  }
  if (const auto name = string_at(state, 4)) {
    return fail(host, "argument 4 of `refuse` is not true or false",
                "m.options." + printable(*name), quoted_name(*name));
  }
  const std::string label = rewrite::node_label(*host.session.graph, node);
  const std::string_view tag = tag_of(host, node);
  const bool allowed = lua_toboolean(state, 4) != 0;
  std::string message = allowed ? "Not skipping " : "Skipping ";
  if (!tag.empty()) message += std::string(tag) + " at ";
  message += label + ": " + reason;
  host.session.warnings->push_back({.rule = host.session.frame->rule->name,
                                    .node = label,
                                    .message = std::move(message),
                                    .allowed = allowed});
  if (!allowed && !host.session.refusal) {
    host.session.refusal = {std::move(reason), std::move(culprit)};
  }
  return 0;
}

// Assumptions are kept and reported. A rule that exceeds these limits writes a
// different sentence for each match; what varies belongs in the culprit.
constexpr std::size_t kMostAssumed = 16, kLongestAssumption = 200;

// The number of assumptions of the transaction, or without one of the match.
std::size_t count_assumed(const Session& session) {
  return session.edit != nullptr ? session.edit->assumptions().size()
                                 : session.assumed->size();
}

// assume(text, culprit): the rewrite is correct only where the text is true.
int assume(Host& host, lua_State* state) {
  if (!check_stage(host, "assume", false)) return kFailed;
  const auto text = string_at(state, 1);
  if (!text || text->empty() || text->size() > kLongestAssumption) {
    return fail(host, "`assume` wants a short sentence",
                "a string such as \"scores above -9,900\"",
                text && !text->empty() ? fmt::format("{} bytes", text->size())
                                       : kind_of(state, 1));
  }
  rewrite::Assumption one{printable(*text), {}};
  if (!describe_culprit(host, state, 2, one.value)) return kFailed;
  Session& session = host.session;
  if (session.edit != nullptr) {
    session.edit->assume(std::move(one));
  } else {
    rewrite::add_assumption(*session.assumed, std::move(one));
  }
  if (count_assumed(session) <= kMostAssumed) return 0;
  return fail(host, "`assume` gets too many different sentences",
              fmt::format("at most {} assumptions for one match", kMostAssumed),
              {}, "put what varies into the culprit, not into the sentence");
}

}  // namespace

Host& make_host(lua_State* state) {
  Host& host = Host::make(state);
  make_value_metatables(host, state);
  make_node_metatables(host, state);
  make_match_metatables(host, state);
  make_float_metatable(host, state);
  make_builders(host, state);
  Sandbox::of(state).set_word_hint(
      [&host](std::string_view word, std::string near) {
        std::string hint = match_name_hint(host, word);
        return hint.empty() ? near : hint;
      });
  return host;
}

void install_callback_words(lua_State* state, Words& words) {
  Host& host = make_host(state);
  set_function(state, host, "need", entry<need>);
  set_function(state, host, "refuse", entry<refuse>);
  set_function(state, host, "assume", entry<assume>);
  install_float_word(state);
  set_function(state, host, "attempt", entry<attempt>);
  lua_pushlightuserdata(state, &words);
  set_function(state, host, "replace_pattern", entry<replace_pattern>, 1);
}

}  // namespace ruleengine::lua
