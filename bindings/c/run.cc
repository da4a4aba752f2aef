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
  auto out = std::make_unique<re_report>();
  out->json = engine::json_text(json);
  return out;
}

// A question about a model: `ask` gives JSON.
template <typename Ask>
re_error* answer(re_rules* rules, re_model* model,
                 const re_run_options* options, const re_call* call,
                 re_report** report, Ask&& ask) noexcept {
  return guarded([&]() -> Status {
    if (Status s = need(report, "`report`"); !s) return s;
    *report = nullptr;
    const Use rules_use(rules, re_rules::kType);
    if (!rules_use.status()) return rules_use.status();
    const Use model_use(model, re_model::kType);
    if (!model_use.status()) return model_use.status();
    const Call its(call);
    if (!its.status()) return its.status();
    *rules->term = its.deadline();
    if (Status s = configure(*rules, options); !s) return s;
    const Result<Json> json = ask(*rules->rewriter, *model->held);
    if (!json) return json.error();
    *report = report_of(*json).release();
    return {};
  });
}

}  // namespace
}  // namespace ruleengine::c

namespace api = ruleengine::api;
namespace engine = ruleengine::engine;
using ruleengine::Json;
using ruleengine::Result;
using ruleengine::Status;
using ruleengine::c::Call;
using ruleengine::c::Use;

void re_report_free(re_report* report) { delete report; }

const char* re_report_json(const re_report* report) {
  return report == nullptr ? "" : report->json.c_str();
}

re_error* re_report_totals(const re_report* report, re_run_totals* totals) {
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(report, "`report`"); !s) return s;
    if (!report->is_run) {
      return ruleengine::c::misuse("the report is not that of a run");
    }
    return ruleengine::c::give(report->totals, totals);
  });
}

re_error* re_run(re_rules* rules, re_model* model,
                 const re_run_options* options, const re_call* call,
                 re_model** result, re_report** report) {
  return ruleengine::c::guarded([&]() -> Status {
    if (report != nullptr) *report = nullptr;
    if (Status s = ruleengine::c::need(result, "`result`"); !s) return s;
    *result = nullptr;
    const Use rules_use(rules, re_rules::kType);
    if (!rules_use.status()) return rules_use.status();
    const Use model_use(model, re_model::kType);
    if (!model_use.status()) return model_use.status();
    Call its(call);
    if (!its.status()) return its.status();
    *rules->term = its.deadline();
    if (Status s = ruleengine::c::configure(*rules, options); !s) return s;
    ruleengine::engine::FileReport made;
    auto done =
        api::rewrite(*rules->rewriter, model->held, its.progress(), made);
    if (report != nullptr) {
      auto told = ruleengine::c::report_of(engine::to_json(made));
      told->is_run = true;
      told->totals = ruleengine::c::totals_of(made);
      *report = told.release();
    }
    if (!done) return done.error();
    auto out = std::make_unique<re_model>();
    out->held = *std::move(done);
    *result = out.release();
    return {};
  });
}

re_error* re_find_matches(re_rules* rules, re_model* model,
                          const re_run_options* options, const re_call* call,
                          re_report** report) {
  return ruleengine::c::answer(
      rules, model, options, call, report,
      [](const auto& its, const auto& held) { return api::match(its, held); });
}

re_error* re_explain(re_rules* rules, re_model* model,
                     const re_explain_options* options, const re_call* call,
                     re_report** report) {
  if (report != nullptr) *report = nullptr;
  re_explain_options what{};
  re_run_options how = {.size = sizeof(how)};
  re_error* const error = ruleengine::c::guarded([&]() -> Status {
    const auto given = ruleengine::c::options_of(options);
    if (!given) return given.error();
    what = *given;
    how.exact = what.exact != 0 ? 1 : 0;
    return {};
  });
  if (error != nullptr) return error;
  return ruleengine::c::answer(
      rules, model, &how, call, report, [&](const auto& its, const auto& held) {
        return api::explain(its, held, ruleengine::c::text_of(what.node),
                            what.most);
      });
}

re_error* re_coverage(re_rules* rules, re_model* model,
                      const re_run_options* options, const re_call* call,
                      re_report** report) {
  return ruleengine::c::answer(rules, model, options, call, report,
                               [](const auto& its, const auto& held) {
                                 return api::coverage(its, held);
                               });
}

re_error* re_test(const re_rules_options* options, const re_call* call,
                  re_report** report) {
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(report, "`report`"); !s) return s;
    *report = nullptr;
    const auto given = ruleengine::c::RulesGiven::of(options);
    if (!given) return given.error();
    api::RewriteOptions& from = (*given)->options;
    const Call its(call);
    if (!its.status()) return its.status();
    api::TestOptions how;
    how.sets = from.sets;
    how.texts = from.texts;
    how.limits = from.limits;
    how.limits.deadline = its.deadline();
    if (auto s = api::add_shipped(from.rules, from.texts.get()); !s) return s;
    const api::Tested tested = api::test(from.rules, how);
    *report = ruleengine::c::report_of(api::report_json(tested)).release();
    const auto& errors = tested.errors_of_files;
    return errors.empty() ? Status() : Status(errors[0]);
  });
}
