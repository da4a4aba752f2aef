// RuleAlone: one rule with the options of one example, as the only rule of a
// run. Refers to all that it is given, which must outlive it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "core/engine/verify.h"
#include "core/ir/evaluator.h"
#include "core/rewrite/driver.h"

namespace ruleengine::lua {

class RuleAlone {
 public:
  RuleAlone(Sandbox& sandbox, const LoadedRule& rule, const Example& example,
            const ir::Evaluator* evaluator);

  // The graph before. An error of its text is an error in the rule file.
  Result<std::unique_ptr<ir::Model>> parse() const;
  // Gives a model the limits and the evaluator of those from parse().
  void prepare(ir::Model& model) const;

  // To the fixed point. `exact`: without rewrites that rest on assumptions.
  Result<rewrite::DriverReport> run(ir::Model& model, bool exact = false);
  Result<std::vector<rewrite::Found>> find_matches(ir::Model& model);
  rewrite::DriverOptions engine() const;
  const LoadedRule& rule() const { return own_; }

  // Why a rewrite of the rule is not compared with its model; "": it is.
  std::string incomparable() const;

  // If a function of the file returned the table, the lines of its examples are
  // unknown.
  int line() const { return example_.line > 0 ? example_.line : own_.line; }
  // "example 'two'".
  std::string quoted_title() const;
  // An error in the text of an example is an error in the rule file.
  Diagnostic in_file(Diagnostic error, const char* part = "") const;

 private:
  Sandbox& sandbox_;
  const Example& example_;
  const ir::Evaluator* evaluator_;
  LoadedRule own_;  // with the example's options
  std::unique_ptr<rewrite::Rule> alone_;
};

bool has_fired(const rewrite::DriverReport& report);  // of one rule

}  // namespace ruleengine::lua
