// LuaRule: a rule file as the driver sees it.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "bindings/lua/callbacks/callback.h"
#include "bindings/lua/callbacks/match_value.h"
#include "bindings/lua/callbacks/results.h"
#include "bindings/lua/callbacks/rule.h"

namespace ruleengine::lua {
namespace {

using rewrite::Rejection;

// A match that passed `where`, with what `where` put onto m. It holds registry
// references of the sandbox and must not outlive it.
class LuaCandidate final : public rewrite::Candidate {
 public:
  LuaCandidate(Sandbox& sandbox, const match::Match& found)
      : match(found), sandbox_(sandbox) {}
  ~LuaCandidate() override {
    if (computed != 0) {
      luaL_unref(sandbox_.state(), LUA_REGISTRYINDEX, computed);
    }
  }
  LuaCandidate(const LuaCandidate&) = delete;
  LuaCandidate& operator=(const LuaCandidate&) = delete;

  const std::string& key() const override { return grouping; }
  std::span<const rewrite::Assumption> assumptions() const override {
    return assumed;
  }

  const match::Match match;
  std::uint64_t epoch = 0;     // of the handles that `where` put onto m
  rewrite::Mentions mentions;  // by `where` and `together`
  FunctionRef computed = 0;    // the table of what `where` put onto m
  std::vector<rewrite::Assumption> assumed;
  std::string grouping;  // what `together` returned

 private:
  Sandbox& sandbox_;
};

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
    for (const FunctionRef each : {frame_.names, frame_.options}) {
      if (each != 0) luaL_unref(state, LUA_REGISTRYINDEX, each);
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

  Result<bool> enabled(ir::Graph& graph, ir::Facts& facts) override {
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
    // Stays false after a rejection, such as arithmetic on an unknown
    // dimension.
    return enabled;
  }

  Result<Filtered> filter(const match::Match& match, ir::Graph& graph,
                          ir::Facts& facts,
                          std::vector<rewrite::Warning>& warnings) override {
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

  Result<Ended> apply(std::span<rewrite::Candidate* const> candidates,
                      rewrite::Edit& edit) override {
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
    Result<Ended> replaced = Ended();
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

  bool has_pass() const override { return static_cast<bool>(pass_); }

  Status pass(rewrite::Transactions& transactions) override {
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

 private:
  void prepare(lua_State* state) {
    Host& host = Host::of(state);
    if (rule_.pattern) frame_.names = make_names(state, *rule_.pattern);
    frame_.options = make_options(host, state, rule_);
    where_ = Callback::of(sandbox_, rule_, "where", rule_.where);
    rewrite_ = Callback::of(sandbox_, rule_, "rewrite", rule_.rewrite);
    together_ = Callback::of(sandbox_, rule_, "together", rule_.together);
    when_ = Callback::of(sandbox_, rule_, "when", rule_.when);
    pass_ = Callback::of(sandbox_, rule_, "pass", rule_.pass);
  }

  Result<Ended> run_where() {
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

  Result<Ended> run_together(LuaCandidate& candidate) {
    if (!together_) return Ended();
    Host& host = Host::of(sandbox_.state());
    host.session.stage = Stage::kTogether;
    Status written;
    auto ended = together_.call(
        sandbox_, [&host](lua_State* state) { push_match(host, state, 0); },
        [&](lua_State* state) {
          written = write_key(host, state, candidate.grouping);
        });
    if (ended && !written) {
      return at_root(std::move(written.error()), candidate.match);
    }
    return ended;
  }

  Diagnostic at_root(Diagnostic error, const match::Match& match) const {
    if (error.where.empty()) {
      error.where = rule_.file + ":" + std::to_string(rule_.line);
    }
    const ir::Graph& graph = *Host::of(sandbox_.state()).session.graph;
    error.where += ", at " + graph.describe(match.root);
    return error;
  }

  // What `replace` described, for the session's only match.
  Result<Ended> replace() {
    Host& host = Host::of(sandbox_.state());
    const Member& member = host.session.members[0];
    Result<Ended> replaced = Ended();
    Status ran = sandbox_.protect([&](lua_State* state) {
      if (push_replacement(host, state, *rule_.replacement, *member.match,
                           *member.computed)) {
        replaced = replace_results(host, state, false);
      }
    });
    if (host.session.rejection) {
      return std::exchange(host.session.rejection, {});
    }
    if (!ran) return at_root(std::move(ran.error()), *member.match);
    if (host.session.error) {
      return at_root(*std::exchange(host.session.error, {}), *member.match);
    }
    if (!replaced) return at_root(replaced.error(), *member.match);
    return replaced;
  }

  Sandbox& sandbox_;
  const LoadedRule& rule_;
  RuleFrame frame_;
  Status prepared_;
  Callback where_, rewrite_, together_, when_, pass_;
};

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
