#include "core/rewrite/run_state.h"

#include <cmath>

#include <algorithm>
#include <numeric>

#include "core/rewrite/portable.h"
#include "core/rewrite/raise.h"
#include "core/verify/verify.h"

namespace ruleengine::rewrite {
namespace {

constexpr std::uint64_t kTicksPerLook = 64;
constexpr double kShowEvery = 0.05;

}  // namespace

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Standing::reject(std::uint32_t rule, std::string node,
                      Rejection rejection) {
  if (!seen.emplace(rule, node, rejection.reason, rejection.value).second) {
    return;
  }
  of[rule].rejected.push_back({std::move(node), std::move(rejection.reason),
                               std::move(rejection.value)});
}

RunState::RunState(ir::Model& m, std::span<Rule* const> r, const Options& o)
    : model(m),
      rules(r),
      options(o),
      rewrites_of(r.size(), 0),
      matches_of(r.size(), 0),
      seconds_of(r.size(), 0),
      took_part(r.size(), false),
      nodes_at_first_(m.graph.live_node_count()) {
  for (const auto& f : m.functions) {
    nodes_at_first_ += f->body.live_node_count();
  }
}

Status Limits::check_time() const {
  if (!std::isfinite(seconds) || seconds_since(start) <= seconds) return {};
  Diagnostic d{.kind = ErrorKind::kLimit,
               .what = "the run took too long",
               .hint = "--limit-time allows more"};
  d.expected = "at most " + std::to_string(seconds) + " s";
  return d;
}

Status RunState::tick(std::uint64_t left) {
  ++done_;
  if (auto late = options.limits.check_time(); !late) return late;
  if (++ticks_ % kTicksPerLook != 0) return {};
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
    if (Status raised = check_raise(model, kOldestOpset); !raised) {
      no_bodies_ = raised.error().what + ": " + raised.error().found;
    }
  }
  return *no_bodies_;
}

std::unique_ptr<GraphRun> RunState::run_of(ir::Graph& graph) {
  auto run = std::make_unique<GraphRun>(graph, options.facts(graph));
  const std::int64_t opset = run->workspace.opset("");
  if (opset != 0 && opset < kOldestOpset && !no_bodies().empty()) {
    run->workspace.refuse_bodies("opset " + std::to_string(opset) + "; " +
                                 no_bodies());
  }
  return run;
}

Status RunState::check_built(std::uint32_t rule, std::size_t nodes) {
  const std::uint64_t own = Limits::kBuiltOfEach * nodes_at_first_;
  built_ += nodes;
  if (built_ <= own || built_ - own <= options.limits.nodes) return {};
  Diagnostic d{.kind = ErrorKind::kLimit,
               .what = "rules built more nodes than they may",
               .where = rules[rule]->file(),
               .hint = "--limit-memory allows more"};
  d.expected = "at most " + std::to_string(own + options.limits.nodes);
  d.found = std::to_string(built_) + ", the last " + std::to_string(nodes) +
            " by " + rules[rule]->qualified();
  return d;
}

Status RunState::count(std::uint32_t rule, std::size_t matches,
                       std::size_t nodes) {
  ++version;
  matches_of[rule] += matches;
  ++rewrites_of[rule];
  if (Status s = check_built(rule, nodes); !s) return s;
  if (++rewrites <= options.limits.rewrites) return {};
  Diagnostic d{.kind = ErrorKind::kLimit,
               .what = "the limit of " +
                       std::to_string(options.limits.rewrites) +
                       " rewrites was reached",
               .hint = "--limit-rewrites allows more"};
  const auto most = std::ranges::max_element(rewrites_of);
  const Rule& busiest = *rules[std::size_t(most - rewrites_of.begin())];
  d.where = busiest.file();
  d.found = std::to_string(*most) + " by " + busiest.qualified();
  return d;
}

namespace {

std::string what_of(const std::vector<std::string>& names, bool repeats) {
  const std::string how = repeats ? "for ever" : "without an end in sight";
  if (names.size() == 1) return "rule " + names[0] + " feeds itself " + how;
  return (repeats ? "rules undo each other " : "rules feed each other ") + how;
}

}  // namespace

Diagnostic RunState::circle(const GraphRun& run,
                            const Lineage::Circle& circle) const {
  std::vector<std::string> names;
  for (std::uint32_t rule : circle.rules) {
    names.push_back(rules[rule]->qualified());
  }
  Diagnostic d{.kind = ErrorKind::kLimit};
  d.what = what_of(names, circle.repeats);
  d.where = rules[circle.rules[0]]->file();
  if (circle.origin) {
    d.where += ": " + printable(run.graph.describe(circle.origin));
  }
  d.expected = "rewrites that come to an end";
  for (const std::string& name : names) d.found += name + " -> ";
  d.found += names[0];
  d.hint =
      "a rewrite must not build what its own pattern, or the other "
      "rule's, matches again";
  return d;
}

Diagnostic RunState::endless(const std::vector<std::uint64_t>& then,
                             bool repeats) const {
  Lineage::Circle circle{.rules = {}, .origin = {}, .repeats = repeats};
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (rewrites_of[i] != then[i]) circle.rules.push_back(i);
  }
  return this->circle(*graphs[0], circle);
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
  if (!name.empty()) return std::string(name);
  for (ir::ValueId v : graph.outputs(node)) {
    if (v && !graph.name(v).empty()) return std::string(graph.name(v));
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
