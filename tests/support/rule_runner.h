// RuleRunner: one rule file and one model for tests; applies the rule at the
// first match, found by the oracle, without a driver.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "core/analysis/inference.h"
#include "core/ir/order.h"
#include "core/match/machine.h"
#include "core/text/parse.h"
#include "kernels/cpu.h"
#include "tests/support/rule_folder.h"

namespace ruleengine::lua {

// The result of one attempt to rewrite.
struct Attempted {
  bool fired = false;
  std::optional<rewrite::Rejection> rejection;
  std::optional<Diagnostic> error;
  std::vector<rewrite::Warning> warnings;
  std::vector<rewrite::Assumption>
      assumptions;  // of the rewrite, if it was kept

  std::string reason() const { return rejection ? rejection->reason : ""; }
  std::string what() const { return error ? error->what : ""; }
};

class RuleRunner {
 public:
  // `rule` is the text between the braces of rule{...}.
  RuleRunner(std::string_view rule, std::string_view model,
             const std::vector<SetOption>& options = {},
             const SandboxLimits& limits = {}) {
    const std::string text = "return rule {" + std::string(rule) + "}";
    auto set = RuleSet::load({folder_.write("r.lua", text)}, options, limits);
    if (!set.ok()) FAIL(set.error().text());
    set_ = std::move(*set);
    rules_ = make_rules(*set_);
    auto parsed = text::parse_model(model, "model");
    if (!parsed.ok()) FAIL(parsed.error().text());
    model_ = std::move(*parsed);
    model_->evaluator = kernels::cpu_evaluator();
    facts_ = std::make_unique<analysis::Inference>(graph());
  }

  ir::Graph& graph() { return model_->graph; }
  ir::Model& model() { return *model_; }
  ir::Facts& facts() { return *facts_; }
  rewrite::Rule& rule() { return *rules_[0]; }
  Sandbox& sandbox() { return set_->sandbox(); }

  // All matches, in graph order, without overlaps.
  std::vector<match::Match> matches() {
    std::vector<match::Match> out;
    for (std::size_t i = 0; i < graph().node_count(); ++i) {
      const ir::NodeId root(i);
      if (graph().node(root).removed) continue;
      auto found =
          match::naive_match(*rule().pattern(), graph(), facts(), root);
      if (found) out.push_back(std::move(*found));
    }
    return out;
  }

  // Rewrites the first match; with `together` all matches as one.
  Attempted attempt() {
    Attempted out;
    std::vector<match::Match> found = matches();
    REQUIRE_FALSE(found.empty());
    if (!rule().groups()) found.resize(1);
    std::vector<std::unique_ptr<rewrite::Candidate>> candidates;
    for (const match::Match& match : found) {
      auto passed = rule().filter(match, graph(), facts(), out.warnings);
      if (!passed.ok()) return out.error = passed.error(), out;
      if (auto* no = std::get_if<rewrite::Rejection>(&*passed)) {
        return out.rejection = *no, out;
      }
      candidates.push_back(
          std::get<std::unique_ptr<rewrite::Candidate>>(std::move(*passed)));
      keys.push_back(candidates.back()->key());
    }
    apply(found, candidates, out);
    return out;
  }

  // Runs the rule's `pass`.
  Attempted pass() {
    Passing passing(graph(), facts(), rule());
    Status status = rule().pass(passing);
    if (!status) passing.out.error = status.error();
    return passing.out;
  }

  // The live nodes' ops in topological order: "MatMul Add".
  std::string ops() {
    std::string out;
    auto order = ir::topological_order(graph());
    REQUIRE(order.ok());
    for (ir::NodeId node : *order) {
      out += (out.empty() ? "" : " ") + graph().op(node).text();
    }
    return out;
  }

  ir::NodeId node(std::string_view type) {
    for (std::size_t i = 0; i < graph().node_count(); ++i) {
      const ir::NodeId id(i);
      if (!graph().node(id).removed && graph().op(id).type == type) return id;
    }
    FAIL("no node " << std::string(type));
    return {};
  }

  std::vector<std::string> keys;  // of the last attempt

 private:
  // Keeps the first rejection.
  struct Passing : rewrite::Transactions {
    Passing(ir::Graph& g, ir::Facts& f, const rewrite::Rule& r)
        : graph(g), facts(f), rule(r) {
      open();
    }
    void open() {
      current.reset();
      current.emplace(graph, facts,
                      rewrite::Provenance{.rule = rule.qualified()});
    }
    rewrite::Edit& edit() override { return *current; }
    Status end(ir::NodeId, std::optional<rewrite::Rejection> why) override {
      if (!why) {
        current->remove_dead({});
        why = current->commit();
      }
      out.fired = out.fired || current->changed();
      for (const auto& each : current->assumptions()) {
        if (!why) out.assumptions.push_back(each);
      }
      if (!out.rejection) out.rejection = std::move(why);
      open();
      return {};
    }

    ir::Graph& graph;
    ir::Facts& facts;
    const rewrite::Rule& rule;
    std::optional<rewrite::Edit> current;
    Attempted out;
  };

  void apply(const std::vector<match::Match>& found,
             const std::vector<std::unique_ptr<rewrite::Candidate>>& candidates,
             Attempted& out) {
    std::vector<rewrite::Candidate*> pointers;
    std::vector<ir::NodeId> consumed;
    for (std::size_t i = 0; i < found.size(); ++i) {
      pointers.push_back(candidates[i].get());
      consumed.insert(consumed.end(), found[i].consumed.begin(),
                      found[i].consumed.end());
    }
    rewrite::Edit edit(graph(), facts(),
                       {.rule = rule().qualified(), .from = consumed});
    auto rejection = rule().apply(pointers, edit);
    if (!rejection.ok()) {
      out.error = rejection.error();
      return;
    }
    out.rejection = *rejection;
    if (out.rejection) return;
    edit.remove_dead(consumed);
    out.rejection = edit.commit();
    out.fired = !out.rejection;
    for (const rewrite::Candidate* each : pointers) {
      for (const auto& a : each->assumptions()) out.assumptions.push_back(a);
    }
    for (const auto& a : edit.assumptions()) out.assumptions.push_back(a);
  }

  RuleFolder folder_;
  std::unique_ptr<RuleSet> set_;
  std::vector<std::unique_ptr<rewrite::Rule>> rules_;
  std::unique_ptr<ir::Model> model_;
  std::unique_ptr<analysis::Inference> facts_;
};

}  // namespace ruleengine::lua
