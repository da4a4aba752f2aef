// Helpers for tests of the driver: rules with one or two nodes, and a run over
// a World. Single-threaded.
#pragma once

#include <doctest/doctest.h>

#include <memory>

#include "core/rewrite/driver.h"
#include "core/verify/verify.h"
#include "tests/support/rewrite_graph.h"

namespace ruleengine::rewrite::testing {

using Match = match::Match;

// Off, since checking the whole graph after each edit makes long chains
// quadratic.
#ifdef RULEENGINE_CHECK_EDITS
inline constexpr int kLong = 300;
#else
inline constexpr int kLong = 20000;
#endif

// The pattern type(in0, in1, ...) with variables x, y, ...
inline pattern::Pattern one_node(std::string_view type, int inputs = 1,
                                 std::string_view inner = {}) {
  pattern::Builder b;
  pattern::NodePattern node;
  node.type = type;
  node.open_attributes = true;
  for (int i = 0; i < inputs; ++i) {
    const std::string name(1, static_cast<char>('x' + i));
    node.inputs.push_back(b.value(b.variable(name, 1), 1));
  }
  if (!inner.empty()) {
    pattern::NodePattern below;
    below.type = inner;
    below.open_attributes = true;
    below.inputs = {node.inputs[0]};
    node.inputs[0] = b.output(*b.node(below), 0);
  }
  b.result(b.output(*b.node(node), 0));
  return *b.finish();
}

inline ir::ValueId bound(const Match& m, std::size_t i = 0) {
  return m.bound[i].value;
}

// The rule type(x) => build(x).
inline TestRule::Parts unary(
    std::string name, std::string type,
    std::function<ir::ValueId(Edit&, ir::ValueId)> build,
    std::string inner = {}) {
  return {.name = std::move(name),
          .pattern = [=] { return one_node(type, 1, inner); },
          .rewrite = [=](std::span<const Match* const> ms,
                         Edit& e) -> std::optional<Rejection> {
            e.replace(ms[0]->results[0], build(e, bound(*ms[0])));
            return std::nullopt;
          }};
}

// from(x) => to(x), canonical.
inline TestRule::Parts spells(const std::string& from, const std::string& to) {
  return unary(from, from,
               [=](Edit& e, ir::ValueId x) { return make(e, to, {x}); });
}

// Identity(x) => x, canonical.
inline TestRule::Parts skips() {
  return unary("Identity", "Identity", [](Edit&, ir::ValueId x) { return x; });
}

// type(x, y) => build(x, y), canonical.
inline TestRule::Parts binary(
    const std::string& type,
    const std::function<ir::ValueId(Edit&, ir::ValueId, ir::ValueId)>& build) {
  return {.name = type,
          .pattern = [=] { return one_node(type, 2); },
          .rewrite =
              [=](std::span<const Match* const> ms, Edit& e) {
                const ir::ValueId v = build(e, bound(*ms[0]), bound(*ms[0], 1));
                e.replace(ms[0]->results[0], v);
                return std::optional<Rejection>();
              }};
}

// outer(inner(x)) => to(x), which needs both; outer(x) without `inner`.
inline TestRule::Parts fuses(const std::string& outer, const std::string& inner,
                             const std::string& to) {
  TestRule::Parts parts = unary(
      "fuses", outer, [=](Edit& e, ir::ValueId x) { return make(e, to, {x}); },
      inner);
  parts.phase = Phase::kAttention;
  return parts;
}

struct Runner {
  explicit Runner(std::vector<TestRule::Parts> parts) {
    for (auto& p : parts) {
      rules.push_back(std::make_unique<TestRule>(std::move(p)));
      pointers.push_back(rules.back().get());
    }
    options.facts = [](ir::Graph& g) {
      return std::make_unique<analysis::Inference>(g);
    };
  }
  Result<DriverReport> run(World& w) {
    auto report = rewrite::run(w.model, pointers, options);
    if (report) CHECK(verify::check_graph(w.graph()).ok());
    return report;
  }

  std::vector<std::unique_ptr<TestRule>> rules;
  std::vector<Rule*> pointers;
  DriverOptions options;
};

// How often a rule rewrote; 99 if it is not in the report.
inline std::uint64_t rewrites(const DriverReport& report,
                              std::string_view rule) {
  for (const RuleReport& each : report.rules) {
    if (each.name == rule) return each.rewrites;
  }
  return 99;
}

inline ir::ValueId chain(World& w, std::string_view op, int length) {
  ir::ValueId v = w.input("x");
  for (int i = 0; i < length; ++i) {
    v = w.node(op, {v}, "v" + std::to_string(i));
  }
  return v;
}

}  // namespace ruleengine::rewrite::testing
