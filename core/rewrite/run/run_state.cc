#include "core/rewrite/run/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/rewrite/portable.h"
#include "core/rewrite/raise.h"
#include "core/verify/verify.h"

namespace ruleengine::rewrite {
namespace {

constexpr std::uint64_t kTicksPerLook = 64;
constexpr double kShowEvery = 0.05;

// Of the main graph; functions have only small ones. Each tensor counts once;
// sparse ones, which no rule makes, do not.
std::int64_t bytes_of_constants(const ir::Model& model) {
  const ir::Graph& graph = model.graph;
  std::unordered_set<const ir::Literal*> seen;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId v(i);
    const ir::Value& value = graph.value(v);
    if (value.kind == ir::ValueKind::kInitializer && !value.removed &&
        value.tensor != nullptr && graph.reader_count(v) != 0 &&
        seen.insert(value.tensor).second) {
      bytes += value.tensor->byte_size();
    }
  }
  return bytes;
}

double in_mebibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

std::string what_of(const std::vector<std::string>& names, bool repeats) {
  const std::string how = repeats ? "for ever" : "and does not end";
  if (names.size() == 1) return "rule " + names[0] + " feeds itself " + how;
  return (repeats ? "rules undo each other " : "rules feed each other ") + how;
}

}  // namespace

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Rejected place_of(const ir::Graph& graph, ir::NodeId node) {
  return {.node = node ? node_label(graph, node) : std::string(),
          .graph = &graph,
          .at = node};
}

void Standing::reject(std::uint32_t rule, Rejected place, Rejection why) {
  if (!seen.emplace(rule, place.node, why.reason, why.value).second) return;
  place.reason = std::move(why.reason);
  place.value = std::move(why.value);
  place.opset = why.opset;
  place.tie = std::move(why.tie);
  of[rule].rejected.push_back(std::move(place));
}

RunState::RunState(ir::Model& m, std::span<Rule* const> r, DriverOptions o)
    : model(m),
      rules(r),
      options(std::move(o)),
      counts(r.size()),
      seconds_of(r.size(), 0),
      took_part(r.size(), false),
      constants_(bytes_of_constants(m)) {}

// Adds the rule and the node at work.
Diagnostic RunState::named(Diagnostic error) const {
  if (at_.graph == nullptr) return error;
  const Rule& rule = *rules[at_.rule];
  error.where = rule.file();
  if (at_.root && at_.root.index() < at_.graph->node_count()) {
    error.where += ": " + printable(at_.graph->describe(at_.root));
  }
  error.found += error.found.empty() ? "" : ", ";
  error.found += rule.qualified() + " at work";
  return error;
}

// The rule that took most of the time, or matching if it took more.
std::string RunState::slowest() const {
  const auto most = std::ranges::max_element(seconds_of);
  if (most == seconds_of.end() || *most <= match_seconds) return {};
  const Rule& rule = *rules[std::size_t(most - seconds_of.begin())];
  return fmt::format("{:.1f} s by {}", *most, rule.qualified());
}

Status RunState::check() const {
  if (options.limits.deadline.is_over()) {
    return named(options.limits.deadline.passed({}, slowest()));
  }
  return model.is_full() ? Status(named(model.full())) : Status();
}

Diagnostic RunState::out_of_memory() const {
  return named({.kind = ErrorKind::kLimit, .what = "out of memory"});
}

Status RunState::tick(std::uint64_t left) {
  ++done_;
  const bool look = ++ticks_ % kTicksPerLook == 0;
  if (!look && !worked_) return {};
  worked_ = false;
  if (Status s = check(); !s) return s;
  if (!look) return {};
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> unseen = now - shown_;
  if (options.progress && unseen.count() >= kShowEvery) {
    shown_ = now;
    options.progress(done_, done_ + left);
  }
  return {};
}

const std::string& RunState::no_bodies() {
  if (!no_bodies_) {
    no_bodies_.emplace();
    if (!options.raises) {
      no_bodies_ = "the target keeps the opset";
    } else if (Status raised = check_raise(model, kOldestOpset); !raised) {
      no_bodies_ = raised.error().what + ": " + raised.error().found;
    }
  }
  return *no_bodies_;
}

std::unique_ptr<GraphRun> RunState::run_of(ir::Graph& graph) {
  auto run = std::make_unique<GraphRun>(graph, options.facts(graph));
  const auto first = first_made_.try_emplace(&graph, graph.node_count());
  run->workspace.set_first_made(first.first->second);
  const std::int64_t opset = run->workspace.opset("");
  if (opset != 0 && opset < kOldestOpset && !no_bodies().empty()) {
    run->workspace.refuse_bodies("opset " + std::to_string(opset) + "; " +
                                 no_bodies());
  }
  return run;
}

Status RunState::count(std::uint32_t rule, std::size_t matches) {
  ++version;
  counts.matches[rule] += matches;
  ++counts.rewrites[rule];
  if (Status s = check(); !s) return s;
  if (++counts.all <= options.limits.rewrites) return {};
  Diagnostic d{.kind = ErrorKind::kLimit,
               .what = "the limit of " +
                       std::to_string(options.limits.rewrites) +
                       " rewrites was reached",
               .remedy = Remedy::kRewrites};
  const auto most = std::ranges::max_element(counts.rewrites);
  const Rule& busiest = *rules[std::size_t(most - counts.rewrites.begin())];
  d.where = busiest.file();
  d.found = std::to_string(*most) + " by " + busiest.qualified();
  return d;
}

// The memory for what is kept counts for the model.
Status RunState::assume(std::uint32_t rule, const std::string& node,
                        std::span<const Assumption> all) {
  for (const Assumption& each : all) {
    counts.assumed.push_back({version, {rules[rule]->name(), node, each}});
    model.hold(sizeof(counts.assumed[0]) + node.size() + each.text.size());
  }
  return all.empty() ? Status() : check();
}

Status RunState::note_site(std::optional<Site> site) {
  if (!site) return {};
  model.hold(sizeof(counts.sites[0]) + site->rule.size() + site->value.size() +
             site->kind.size());
  counts.sites.push_back({version, *std::move(site)});
  return check();
}

std::optional<Rejection> RunState::forbidden(std::uint32_t rule,
                                             const Site& site) const {
  auto reason = options.permits(*rules[rule], site);
  if (!reason) return std::nullopt;
  return Rejection{*std::move(reason), {}};
}

std::optional<Rejection> RunState::too_much(
    std::span<const Assumption> all) const {
  if (!options.exact || all.empty()) return std::nullopt;
  return Rejection{"it rests on an assumption: " + all[0].text, all[0].value};
}

std::int64_t RunState::limit_on_growth() const {
  constexpr std::int64_t kUsual = 1 << 26;
  const auto given = static_cast<std::int64_t>(options.limits.growth);
  return given != 0 ? given : std::max(kUsual, constants_ / 4);
}

std::optional<Rejection> RunState::end(Edit& edit, const Rule& rule,
                                       bool keeps) {
  auto doubt = edit.doubt();
  if (doubt) {
    if (auto rejection = too_much({&*doubt, 1})) return rejection;
  }
  const Edit::NewConstants added = edit.new_constants();
  std::int64_t grown = grown_ + added.bytes;
  if (added.bytes != 0 && grown > limit_on_growth()) {
    // Constants may have gone since: counted again, which takes a while.
    grown = bytes_of_constants(model) - constants_;
    if (grown > limit_on_growth()) {
      return Rejection{
          fmt::format("the constants of the model would grow by {:.1f} MiB, "
                      "and may grow by {:.1f} MiB",
                      in_mebibytes(grown), in_mebibytes(limit_on_growth())),
          added.largest};
    }
  }
  Edit::Judged judge;
  if (options.judge) {
    judge = [&](const Region& region) { return options.judge(rule, region); };
  }
  if (doubt) edit.assume(*std::move(doubt));
  auto rejection = keeps ? edit.commit(judge) : edit.rehearse();
  if (!rejection && keeps) grown_ = grown;
  return rejection;
}

Diagnostic RunState::loop(const GraphRun& run,
                          const Lineage::RuleLoop& loop) const {
  std::vector<std::string> names;
  for (std::uint32_t rule : loop.rules) {
    names.push_back(rules[rule]->qualified());
  }
  Diagnostic d{.kind = ErrorKind::kLimit};
  d.what = what_of(names, loop.repeats);
  d.where = rules[loop.rules[0]]->file();
  if (loop.origin) {
    d.where += ": " + printable(run.graph.describe(loop.origin));
  }
  d.expected = "rewrites that end";
  d.found = fmt::format("{} -> {}", fmt::join(names, " -> "), names[0]);
  d.hint =
      "a rewrite must not build what its own pattern, or the other "
      "rule's, matches again";
  return d;
}

Diagnostic RunState::endless(const std::vector<std::uint64_t>& then,
                             bool repeats) const {
  Lineage::RuleLoop loop{.rules = {}, .origin = {}, .repeats = repeats};
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (counts.rewrites[i] != then[i]) loop.rules.push_back(i);
  }
  return this->loop(*graphs[0], loop);
}

Diagnostic RunState::exhausted(const GraphRun& run, std::uint32_t rule,
                               ir::NodeId root) const {
  Diagnostic d{.kind = ErrorKind::kLimit,
               .what = "matching rule " + rules[rule]->qualified() +
                       " takes too many steps"};
  d.where = rules[rule]->file() + ": " + printable(run.graph.describe(root));
  d.hint = "fewer alternatives, or tests that fail earlier";
  return d;
}

std::string node_label(const ir::Graph& graph, ir::NodeId node) {
  const std::string_view name = graph.node(node).name;
  if (!name.empty()) return shortened(name);
  for (ir::ValueId v : graph.outputs(node)) {
    if (v && !graph.name(v).empty()) return shortened(graph.name(v));
  }
  return graph.describe(node);
}

Status check_at_end(GraphRun& run) {
  compact_initializers(run.graph);
  Status status = verify::check_graph(run.graph);
  if (status) return status;
  Diagnostic d = status.error();
  d.hint += "; nothing was written";
  return d;
}

Status check_after_edit([[maybe_unused]] GraphRun& run) {
#ifdef RULEENGINE_CHECK_EDITS
  return check_at_end(run);
#else
  return {};
#endif
}

}  // namespace ruleengine::rewrite
