// LuaRule: a rule file as the driver sees it.
#include <algorithm>
#include <memory>
#include <utility>

#include "bindings/lua/callbacks/callback.h"
#include "bindings/lua/callbacks/candidate.h"
#include "bindings/lua/callbacks/group_key.h"
#include "bindings/lua/callbacks/match_value.h"
#include "bindings/lua/callbacks/replacer.h"
#include "bindings/lua/callbacks/results.h"
#include "bindings/lua/callbacks/rule.h"
#include "bindings/lua/rule_file.h"

namespace ruleengine::lua {
namespace {

using rewrite::Rejection;

class LuaRule final : public rewrite::Rule {
 public:
  LuaRule(Sandbox& sandbox, const LoadedRule& rule)
      : sandbox_(sandbox), rule_(rule) {
    frame_.rule = &rule;
    if (rule.pattern) frame_.pattern = &*rule.pattern;
    prepared_ = sandbox.protect([this](lua_State* state) { prepare(state); });
  }
  ~LuaRule() override {
    lua_State* state = sandbox_.state();
    if (frame_.names != 0) {
      luaL_unref(state, LUA_REGISTRYINDEX, frame_.names);
    }
    if (frame_.options != 0) {
      luaL_unref(state, LUA_REGISTRYINDEX, frame_.options);
    }
    for (Callback* each : {&where_, &rewrite_, &together_, &when_, &pass_}) {
      each->release(state);
    }
  }
  LuaRule(const LuaRule&) = delete;
  LuaRule& operator=(const LuaRule&) = delete;

  const std::string& name() const override { return rule_.name; }
  const std::string& qualified() const override { return rule_.qualified; }
  const std::string& file() const override { return rule_.file; }
  rewrite::Phase phase() const override { return rule_.phase; }
  bool is_lint() const override { return rule_.lint; }
  std::optional<rewrite::Deviation> changes_meaning() const override {
    return rule_.changes_meaning;
  }
  const std::vector<std::string>& after() const override { return rule_.after; }
  bool groups() const override { return rule_.together != 0; }
  std::vector<std::pair<std::string, std::string>> meta() const override {
    return rule_.meta;
  }
  const pattern::Pattern* pattern() const override {
    return rule_.pattern ? &*rule_.pattern : nullptr;
  }

  Result<bool> enabled(ir::Graph& graph, ir::Facts& facts) override;
  Result<Filtered> filter(const match::Match& match, ir::Graph& graph,
                          ir::Facts& facts,
                          std::vector<rewrite::Warning>& warnings) override;
  Result<std::optional<Rejection>> apply(
      std::span<rewrite::Candidate* const> candidates,
      rewrite::Edit& edit) override;
  bool has_pass() const override { return static_cast<bool>(pass_); }
  Status pass(rewrite::Transactions& transactions) override;

 private:
  void prepare(lua_State* state);
  Result<Ended> run_where();
  Result<Ended> run_together(LuaCandidate& candidate);
  Diagnostic at_root(Diagnostic error, const match::Match& match) const;
  Result<std::optional<Rejection>> replace();

  Sandbox& sandbox_;
  const LoadedRule& rule_;
  RuleFrame frame_;
  Status prepared_;
  Callback where_, rewrite_, together_, when_, pass_;
};

void LuaRule::prepare(lua_State* state) {
  Host& host = Host::of(state);
  if (rule_.pattern) frame_.names = make_names(state, *rule_.pattern);
  frame_.options = make_options(host, state, rule_);
  where_ = Callback::of(sandbox_, rule_, "where", rule_.where);
  rewrite_ = Callback::of(sandbox_, rule_, "rewrite", rule_.rewrite);
  together_ = Callback::of(sandbox_, rule_, "together", rule_.together);
  when_ = Callback::of(sandbox_, rule_, "when", rule_.when);
  pass_ = Callback::of(sandbox_, rule_, "pass", rule_.pass);
}

// --- when

Result<bool> LuaRule::enabled(ir::Graph& graph, ir::Facts& facts) {
  if (!prepared_) return prepared_.error();
  if (!when_) return true;
  Host& host = Host::of(sandbox_.state());
  const SessionScope scope(host, {.stage = Stage::kWhen,
                                  .frame = &frame_,
                                  .graph = &graph,
                                  .facts = &facts});
  bool enabled = false;
  auto ended = when_.call(
      sandbox_,
      [&](lua_State* state) {
        push_handle(host, state, {.kind = HandleKind::kGraph});
        lua_rawgeti(state, LUA_REGISTRYINDEX, frame_.options);
      },
      [&](lua_State* state) { enabled = lua_toboolean(state, 1) != 0; });
  if (!ended) return ended.error();
  // Stays false after a rejection, such as arithmetic on an unknown dimension.
  return enabled;
}

// --- where and together

Result<Ended> LuaRule::run_where() {
  if (!where_) return Ended();
  Host& host = Host::of(sandbox_.state());
  host.session.stage = Stage::kWhere;
  std::string returned;
  auto ended = where_.call(
      sandbox_,
      [&host](lua_State* state) {
        push_match(host, state, 0);
        lua_rawgeti(state, LUA_REGISTRYINDEX, host.builders);
      },
      [&returned](lua_State* state) {
        if (!lua_isnoneornil(state, 1)) returned = kind_of(state, 1);
      });
  if (!ended || *ended) return ended;
  if (!returned.empty()) {
    return where_.located(
        host, wrong("`where` returns a value", "nothing", std::move(returned),
                    "need(condition, \"the reason\") ends the match"));
  }
  return Ended(std::exchange(host.session.refusal, {}));
}

Result<Ended> LuaRule::run_together(LuaCandidate& candidate) {
  if (!together_) return Ended();
  Host& host = Host::of(sandbox_.state());
  host.session.stage = Stage::kTogether;
  Status written;
  auto ended = together_.call(
      sandbox_, [&host](lua_State* state) { push_match(host, state, 0); },
      [&](lua_State* state) {
        written = write_key(host, state, candidate.mutable_key());
      });
  if (ended && !written) {
    return at_root(std::move(written.error()), candidate.match);
  }
  return ended;
}

Diagnostic LuaRule::at_root(Diagnostic error, const match::Match& match) const {
  if (error.where.empty()) {
    error.where = rule_.file + ":" + std::to_string(rule_.line);
  }
  const ir::Graph& graph = *Host::of(sandbox_.state()).session.graph;
  error.where += ", at " + graph.describe(match.root);
  return error;
}

Result<rewrite::Rule::Filtered> LuaRule::filter(
    const match::Match& match, ir::Graph& graph, ir::Facts& facts,
    std::vector<rewrite::Warning>& warnings) {
  if (!prepared_) return prepared_.error();
  auto candidate = std::make_unique<LuaCandidate>(sandbox_, match);
  Host& host = Host::of(sandbox_.state());
  const SessionScope scope(host, {.stage = Stage::kWhere,
                                  .frame = &frame_,
                                  .graph = &graph,
                                  .facts = &facts,
                                  .warnings = &warnings,
                                  .assumed = &candidate->assumed,
                                  .mentions = &candidate->mentions});
  candidate->epoch = scope.epoch();
  host.session.members.push_back({&candidate->match, &candidate->computed});
  Result<Ended> ended = run_where();
  if (ended && !*ended) ended = run_together(*candidate);
  if (!ended) return ended.error();
  if (*ended) return Filtered(std::move(**ended));
  return Filtered(std::unique_ptr<rewrite::Candidate>(std::move(candidate)));
}

// --- rewrite

Result<std::optional<Rejection>> LuaRule::apply(
    std::span<rewrite::Candidate* const> candidates, rewrite::Edit& edit) {
  Host& host = Host::of(sandbox_.state());
  const SessionScope scope(host, {.stage = Stage::kRewrite,
                                  .frame = &frame_,
                                  .graph = &edit.graph(),
                                  .facts = &edit.facts(),
                                  .edit = &edit});
  for (rewrite::Candidate* each : candidates) {
    auto& candidate = static_cast<LuaCandidate&>(*each);
    host.session.members.push_back({&candidate.match, &candidate.computed});
    host.session.epochs.push_back(candidate.epoch);
    edit.mentions().add(candidate.mentions);
  }
  std::ranges::sort(host.session.epochs);  // the session's own stays last
  const match::Match& first = *host.session.members[0].match;
  edit.set_block(edit.graph().node(first.root).block);
  if (rule_.replacement) return replace();
  if (!rewrite_) {
    return at_root(wrong("the rule has no `rewrite`"), first);
  }
  Result<std::optional<Rejection>> replaced = std::optional<Rejection>();
  auto ended = rewrite_.call(
      sandbox_,
      [&](lua_State* state) {
        lua_rawgeti(state, LUA_REGISTRYINDEX, host.builders);
        if (groups()) {
          push_group(host, state);
        } else {
          push_match(host, state, 0);
        }
      },
      [&](lua_State* state) {
        replaced = replace_results(host, state, groups());
      });
  if (!ended || *ended) return ended;
  if (!replaced) return at_root(std::move(replaced.error()), first);
  return replaced;
}

// What `replace` described, for the session's only match.
Result<std::optional<Rejection>> LuaRule::replace() {
  Host& host = Host::of(sandbox_.state());
  const Member& member = host.session.members[0];
  Result<std::optional<Rejection>> replaced = std::optional<Rejection>();
  Status ran = sandbox_.protect([&](lua_State* state) {
    Replacer replacer(host, state, *rule_.replacement, *member.match,
                      *member.computed);
    if (replacer.push_results()) replaced = replace_results(host, state, false);
  });
  if (host.session.rejection) {
    return std::exchange(host.session.rejection, {});
  }
  if (!ran) return at_root(std::move(ran.error()), *member.match);
  if (host.session.error) {
    return at_root(*std::exchange(host.session.error, {}), *member.match);
  }
  if (!replaced) {
    return at_root(std::move(replaced.error()), *member.match);
  }
  return replaced;
}

// --- pass

Status LuaRule::pass(rewrite::Transactions& transactions) {
  if (!prepared_) return prepared_.error();
  if (!pass_) return {};
  rewrite::Edit& edit = transactions.edit();
  Host& host = Host::of(sandbox_.state());
  const SessionScope scope(host, {.stage = Stage::kPass,
                                  .frame = &frame_,
                                  .graph = &edit.graph(),
                                  .facts = &edit.facts(),
                                  .edit = &edit,
                                  .transactions = &transactions});
  auto ended = pass_.call(sandbox_, [&](lua_State* state) {
    push_handle(host, state, {.kind = HandleKind::kGraph});
    lua_rawgeti(state, LUA_REGISTRYINDEX, host.builders);
    lua_rawgeti(state, LUA_REGISTRYINDEX, frame_.options);
  });
  if (host.session.failure) return *std::exchange(host.session.failure, {});
  if (!ended) return ended.error();
  if (!*ended && !host.session.changed) return {};
  return transactions.end({}, std::move(*ended));
}

}  // namespace

std::unique_ptr<rewrite::Rule> make_rule(Sandbox& sandbox,
                                         const LoadedRule& rule) {
  return std::make_unique<LuaRule>(sandbox, rule);
}

std::vector<std::unique_ptr<rewrite::Rule>> make_rules(RuleSet& set) {
  std::vector<std::unique_ptr<rewrite::Rule>> out;
  for (const auto& rule : set.rules()) {
    out.push_back(make_rule(set.sandbox(), *rule));
  }
  return out;
}

}  // namespace ruleengine::lua
