#include "bindings/lua/rule_alone.h"

#include <utility>

#include "bindings/lua/callbacks/rule.h"
#include "core/engine/options.h"
#include "core/text/parse.h"

namespace ruleengine::lua {

RuleAlone::RuleAlone(Sandbox& sandbox, const LoadedRule& rule,
                     const Example& example, const ir::Evaluator* evaluator)
    : sandbox_(sandbox), example_(example), evaluator_(evaluator), own_(rule) {
  own_.options = rule.own_options;
  for (const auto& [name, value] : rule.options) {
    if (!own_.options.contains(name)) own_.unset_options.push_back(name);
  }
  for (const auto& [name, value] : example.options) {
    own_.options.insert_or_assign(name, value);
  }
  alone_ = make_rule(sandbox_, own_);
}

Result<std::unique_ptr<ir::Model>> RuleAlone::parse() const {
  auto model =
      text::parse_model(example_.before, example_.file, {.check_ops = true});
  if (!model) return in_file(std::move(model.error()));
  prepare(**model);
  return model;
}

void RuleAlone::prepare(ir::Model& model) const {
  model.limit_growth(sandbox_.limits().total_bytes);
  model.evaluator = evaluator_;
}

rewrite::DriverOptions RuleAlone::engine() const {
  rewrite::DriverOptions options;
  // Examples are small; a rule that needs more rewrites feeds itself.
  options.limits.rewrites = 10'000;
  options.limits.deadline = Deadline(60).or_before(sandbox_.limits().deadline);
  options.facts = engine::facts_of;
  return options;
}

Result<rewrite::DriverReport> RuleAlone::run(ir::Model& model, bool exact) {
  rewrite::Rule* const rule = alone_.get();
  rewrite::DriverOptions options = engine();
  options.exact = exact;
  return rewrite::run(model, {&rule, 1}, options);
}

Result<std::vector<rewrite::Found>> RuleAlone::find_matches(ir::Model& model) {
  rewrite::Rule* const rule = alone_.get();
  return rewrite::find_matches(model, {&rule, 1}, engine());
}

std::string RuleAlone::incomparable() const {
  if (example_.changes_meaning) return "its options change the meaning";
  const auto& within = own_.changes_meaning;
  return within && !within->is_bounded() ? "the rule changes the meaning" : "";
}

std::string RuleAlone::quoted_title() const {
  return "example '" + printable(example_.title) + "'";
}

Diagnostic RuleAlone::in_file(Diagnostic error, const char* part) const {
  error.kind = ErrorKind::kRule;
  error.where = own_.file + ":" + std::to_string(line()) + ", " +
                quoted_title() + part +
                (error.where.empty() ? "" : ", " + error.where);
  return error;
}

bool has_fired(const rewrite::DriverReport& report) {
  return report.rules.at(0).rewrites > 0;
}

}  // namespace ruleengine::lua
