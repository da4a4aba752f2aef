#include "bindings/api/examples.h"
#include "bindings/c/call.h"
#include "bindings/c/objects.h"

namespace ruleengine::c {
namespace {

re_run_totals totals_of(const engine::FileReport& report) {
  const engine::RunReport& run = report.run;
  re_run_totals out{};
  out.nodes_before = engine::total(run.ops_before);
  out.nodes_after = engine::total(run.ops_after);
  for (const rewrite::RuleReport& each : run.rewrites.rules) {
    out.matches += each.matches;
    out.rewrites += each.rewrites;
    out.rejected += each.rejected.size();
  }
  out.warnings = run.rewrites.warnings.size();
  out.assumptions = run.rewrites.assumptions.size();
  out.opset_before = run.opset_before;
  out.opset_after = run.opset_after;
  out.verified = report.verified ? 1 : 0;
  out.match_seconds = run.rewrites.match_seconds;
  out.rewrite_seconds = run.rewrites.rewrite_seconds;
  return out;
}

std::unique_ptr<re_report> report_of(const Json& json) {
  return std::make_unique<re_report>(
      re_report{.json = engine::json_text(json)});
}

// Makes the rules do what the options of a run say.
void configure(re_rules& rules, const re_run_options* options) {
  const re_run_options given = options_of(options);
  if (given.verify < RE_VERIFY_NOTHING || given.verify > RE_VERIFY_EDITS) {
    throw misuse("`verify` is unknown", "a re_verify",
                 std::to_string(given.verify));
  }
  api::RewriteOptions how;
  if (given.target != nullptr) how.run.target = given.target;
  how.run.opset = given.opset;
  how.run.exact = given.exact != 0;
  how.run.keep_ir_version = given.keep_ir_version != 0;
  how.run.keep_all = given.keep_all != 0;
  how.verifies = given.verify == RE_VERIFY_RESULT;
  how.verifies_edits = given.verify == RE_VERIFY_EDITS;
  how.limits.tensors = given.tensors;
  check(rules.rewriter->configure(how));
}

// A question about a model: `ask` gives JSON.
template <typename Ask>
void answer(re_rules* rules, re_model* model, const re_run_options* options,
            const re_call* call, re_report** report, const Ask& ask) {
  clear(report, "`report`");
  const Use rules_use(rules), model_use(model);
  const Call its(call);
  *rules->term = its.deadline();
  configure(*rules, options);
  *report = report_of(take(ask(*rules->rewriter, *model->held))).release();
}

}  // namespace
}  // namespace ruleengine::c

namespace api = ruleengine::api;
namespace engine = ruleengine::engine;
using ruleengine::c::Call;
using ruleengine::c::guarded;
using ruleengine::c::Use;

void re_report_free(re_report* report) { delete report; }

const char* re_report_json(const re_report* report) {
  return report == nullptr ? "" : report->json.c_str();
}

re_error* re_report_totals(const re_report* report, re_run_totals* totals) {
  return guarded([&] {
    ruleengine::c::need(report, "`report`");
    if (!report->is_run) throw api::misuse("the report is not that of a run");
    ruleengine::c::give(report->totals, totals);
  });
}

re_error* re_run(re_rules* rules, re_model* model,
                 const re_run_options* options, const re_call* call,
                 re_model** result, re_report** report) {
  return guarded([&] {
    if (report != nullptr) *report = nullptr;
    ruleengine::c::clear(result, "`result`");
    const Use rules_use(rules), model_use(model);
    Call its(call);
    *rules->term = its.deadline();
    ruleengine::c::configure(*rules, options);
    engine::FileReport made;
    auto done =
        api::rewrite(*rules->rewriter, model->held, its.progress(), made);
    if (report != nullptr) {
      auto told = ruleengine::c::report_of(engine::to_json(made));
      told->is_run = true;
      told->totals = ruleengine::c::totals_of(made);
      *report = told.release();
    }
    auto out = std::make_unique<re_model>();
    out->held = api::take(std::move(done));
    *result = out.release();
  });
}

re_error* re_find_matches(re_rules* rules, re_model* model,
                          const re_run_options* options, const re_call* call,
                          re_report** report) {
  return guarded([&] {
    ruleengine::c::answer(rules, model, options, call, report, api::match_json);
  });
}

re_error* re_explain(re_rules* rules, re_model* model,
                     const re_explain_options* options, const re_call* call,
                     re_report** report) {
  return guarded([&] {
    if (report != nullptr) *report = nullptr;
    const re_explain_options what = ruleengine::c::options_of(options);
    re_run_options how = {.size = sizeof(how)};
    how.exact = what.exact != 0 ? 1 : 0;
    ruleengine::c::answer(rules, model, &how, call, report,
                          [&](const auto& its, const api::Held& held) {
                            return api::explain_json(
                                its, held, ruleengine::c::text_of(what.node),
                                what.most);
                          });
  });
}

re_error* re_coverage(re_rules* rules, re_model* model,
                      const re_run_options* options, const re_call* call,
                      re_report** report) {
  return guarded([&] {
    ruleengine::c::answer(rules, model, options, call, report,
                          api::coverage_json);
  });
}

re_error* re_test(const re_rules_options* options, const re_call* call,
                  re_report** report) {
  return guarded([&] {
    ruleengine::c::clear(report, "`report`");
    ruleengine::c::RulesGiven given(options);
    const Call its(call);
    api::TestOptions how;
    how.sets = given.options.sets;
    how.texts = given.options.texts;
    how.limits = given.options.limits;
    how.limits.deadline = its.deadline();
    auto& paths = given.options.rules;
    api::check(api::add_shipped(paths, how.texts.get()));
    const api::Tested tested = api::test(paths, how);
    *report = ruleengine::c::report_of(api::report_json(tested)).release();
    const auto& errors = tested.errors_of_files;
    if (!errors.empty()) throw api::Failure(errors[0]);
  });
}
