#include "bindings/api/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bindings/api/counterexample.h"
#include "bindings/api/cuts.h"
#include "bindings/api/models.h"
#include "core/engine/verify.h"

namespace ruleengine::api {
namespace {

using Within = std::optional<rewrite::Deviation>;

bool is_edit(const rewrite::Rule& rule) {
  return rule.changes_meaning().has_value();
}

bool is_unbounded_edit(const rewrite::Rule& rule) {
  return is_edit(rule) && !rule.changes_meaning()->is_bounded();
}

class Proof {
 public:
  Proof(engine::Engine& engine, const ir::Model& model,
        const ProofOptions& options, engine::FileReport& report)
      : engine_(engine),
        model_(model),
        options_(options),
        report_(report),
        shown_by_(std::make_shared<runtime::NamedData>()),
        compare_(engine.bodies().compare_with(
            compare_by_kernels(options.how, shown_by_))) {}

  Status run(const ir::Model& result) {
    Within within;
    bool has_edits = false;
    for (const rewrite::RuleReport& rule : report_.run.rewrites.rules) {
      if (rule.rewrites == 0 || !rule.changes_meaning) continue;
      has_edits = true;
      if (rule.changes_meaning->is_bounded()) {
        if (!within) within = {.abs = 0, .rel = 0};
        within->abs = std::max(within->abs, rule.changes_meaning->abs);
        within->rel = std::max(within->rel, rule.changes_meaning->rel);
      } else {
        warn(fmt::format(
            "rule '{}' changes the meaning of the model, so its {} {} not "
            "verified",
            rule.name, rule.rewrites,
            rule.rewrites == 1 ? "rewrite is" : "rewrites are"));
      }
    }
    if (!has_edits) return compare(result, report_.run, {}, {});
    auto status = compare_without(is_edit, {});
    if (status && within) status = compare_without(is_unbounded_edit, within);
    if (status && !report_.verified && report_.unverified.empty()) {
      warn("nothing else was rewritten, so nothing is verified");
    }
    return status;
  }

 private:
  using Part = engine::Engine::Part;

  void warn(std::string message) {
    report_.run.rewrites.warnings.push_back({.message = std::move(message)});
  }

  Result<engine::Prefix> make(const Part& part) {
    auto result = copy_of(model_, options_.how.limits);
    auto done = engine_.run_part(*result, part);
    if (!done) return done.error();
    return engine::Prefix{std::move(result), *std::move(done)};
  }

  // The model beside its result without these rules.
  Status compare_without(bool (*left_out)(const rewrite::Rule&),
                         const Within& within) {
    const Part part{.leaves_out = left_out};
    const auto made = make(part);
    if (!made) return made.error();
    if (made->report.is_untouched()) return {};
    return compare(*made->model, made->report, part, within);
  }

  Status compare(const ir::Model& result, const engine::RunReport& run,
                 const Part& part, const Within& within) {
    auto found = compare_(
        model_, result,
        {.assumes = !run.rewrites.assumptions.empty(), .within = within});
    if (!found) return found.error();
    if (!found->unverified.empty()) {
      report_.unverified = found->unverified;
      if (!options_.lenient) {
        return engine::unverified_error(report_.model, *found);
      }
      warn("the result was not verified: " + found->unverified);
      return {};
    }
    for (std::string& note : found->notes) warn(std::move(note));
    if (!found->difference.empty()) return blame(result, part, within, *found);
    report_.verified = std::move(found->verified);
    return {};
  }

  // The error that names the rewrite at fault.
  Status blame(const ir::Model& result, Part part, const Within& within,
               const engine::Finding& whole) {
    const auto prefix = [&](std::uint64_t rewrites) {
      part.first = rewrites;
      return make(part);
    };
    const auto culprit = engine::find_culprit(compare_, model_, prefix, within);
    if (!culprit) return culprit.error();
    auto error = engine::mismatch_error(report_.model, *culprit, whole);
    if (const auto most = tolerance_of(options_.how, {.within = within})) {
      error.expected = fmt::format(
          "outputs that differ by at most {:g} + {:g} times their "
          "size",
          most->abs, most->rel);
    }
    if (options_.counterexample.empty()) return error;
    if (auto saved = save(result, *culprit, part, within, error); !saved) {
      const Diagnostic& why = saved.error();
      warn(fmt::format("the models that show it are not saved: {}{}{}",
                       why.what, why.where.empty() ? "" : ": ", why.where));
      return error;
    }
    if (!error.hint.empty()) error.hint += "; ";
    error.hint +=
        "the models before and after it, and inputs that show it, "
        "are in " +
        options_.counterexample;
    return error;
  }

  Status save(const ir::Model& result, const engine::Culprit& culprit,
              Part part, const Within& within, const Diagnostic& error) {
    Counterexample example(options_.counterexample);
    Counterexample::Text text{.model = report_.model, .differs = error.found};
    if (culprit.number == 0) {
      auto status = example.add({model_, result, *shown_by_});
      return status ? example.finish(text) : status;
    }
    text.rewrite = error.where;
    part.first = culprit.number - 1;
    const auto before = make(part);
    if (!before) return before.error();
    Status status;
    part.first = culprit.number;
    part.judge = [&, edits = std::uint64_t{0}](
                     const rewrite::Rule&,
                     const rewrite::Region& region) mutable {
      if (++edits != culprit.number) return std::optional<std::string>();
      const auto shown =
          smallest_part(region, {.assumes = region.assumes, .within = within},
                        options_.how, engine_.bodies());
      if (shown) {
        status =
            example.add_part({*shown->before, *shown->after, shown->inputs});
      }
      return std::optional<std::string>();
    };
    const auto after = make(part);
    if (!after) return after.error();
    if (status) {
      status = example.add({*before->model, *after->model, *shown_by_});
    }
    return status ? example.finish(text) : status;
  }

  engine::Engine& engine_;
  const ir::Model& model_;
  const ProofOptions& options_;
  engine::FileReport& report_;
  std::shared_ptr<runtime::NamedData> shown_by_;  // of the last difference
  engine::CompareModels compare_;
};

}  // namespace

Status prove(engine::Engine& engine, const ir::Model& model,
             const ir::Model& result, const ProofOptions& options,
             engine::FileReport& report) {
  return Proof(engine, model, options, report).run(result);
}

}  // namespace ruleengine::api
