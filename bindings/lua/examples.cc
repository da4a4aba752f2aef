#include "bindings/lua/examples.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "bindings/lua/example_texts.h"
#include "bindings/lua/rule_alone.h"
#include "core/engine/nearest_miss.h"
#include "core/engine/options.h"
#include "core/rewrite/driver.h"
#include "core/text/equivalent.h"
#include "core/text/lines.h"
#include "core/text/parse.h"
#include "core/text/print.h"

namespace ruleengine::lua {
namespace {

// The reasons of all rejections, joined.
std::string reasons(const rewrite::DriverReport& report) {
  std::string out;
  for (const rewrite::Rejected& r : report.rules.at(0).rejected) {
    out += (out.empty() ? "rejected: " : "; ") + r.reason;
    if (!r.value.empty()) out += " (" + r.value + ")";
  }
  return out;
}

// The main graph as text, without long parts.
std::string shown(const ir::Model& model) {
  constexpr std::size_t kMostLines = 20, kWidth = 160;
  const std::string all = text::print(model);
  std::string_view rest = all;
  rest.remove_prefix(rest.find("\n>\n") + 3);  // the header
  std::string out;
  for (std::size_t count = 0; !rest.empty(); ++count) {
    const std::string_view line = text::take_line(rest);
    if (count == kMostLines) return out + "...\n";
    out += printable(line, kWidth) + "\n";
    if (line == "}") break;  // functions of the model follow
  }
  return out;
}

// Whether one of them has the text in it.
template <typename Items, typename TextOf>
bool any_says(const Items& items, const std::string& text, TextOf text_of) {
  return std::ranges::any_of(items, [&](const auto& each) {
    return std::invoke(text_of, each).find(text) != std::string::npos;
  });
}

// Runs one example of one rule.
class ExampleRun {
 public:
  ExampleRun(Sandbox& sandbox, const LoadedRule& rule, const Example& example,
             const ir::Evaluator* evaluator)
      : sandbox_(sandbox),
        rule_(rule),
        example_(example),
        alone_(sandbox, rule, example, evaluator) {}

  Result<ExampleResult> run(const engine::CompareModels& compare,
                            bool proposes) {
    ExampleResult out{.rule = rule_.name,
                      .file = rule_.file,
                      .title = example_.title,
                      .line = alone_.line()};
    auto before = alone_.parse();
    if (!before) return before.error();
    before_ = std::move(*before);
    auto model = alone_.parse();
    if (!model) return model.error();
    model_ = std::move(*model);
    auto report = alone_.run(*model_);
    if (!report) return in_example(std::move(report.error()));
    Status decided = decide(*report, out);
    if (!decided) return decided.error();
    if (out.verdict != Verdict::kOk && has_fired(*report)) {
      out.notes = shown(*model_);
    }
    const bool is_asked =
        out.verdict == Verdict::kOk || (proposes && out.differs);
    if (compare == nullptr || !has_fired(*report) || !is_asked) return out;
    const bool assumes = !report->assumptions.empty() || example_.assumed;
    if (Status s = execute(compare, assumes, out); !s) return s.error();
    if (out.verdict == Verdict::kWrong) {
      out.found = expected_text(*before_, example_.before, *model_);
    }
    return out;
  }

 private:
  static void say(ExampleResult& out, Verdict verdict, std::string detail) {
    out.verdict = verdict;
    out.detail = std::move(detail);
  }

  // Compares the graphs by running them.
  Status execute(const engine::CompareModels& compare, bool assumes,
                 ExampleResult& out) {
    out.not_executed = alone_.incomparable();
    if (!out.not_executed.empty()) return {};
    auto finding =
        compare(*before_, *model_,
                {.assumes = assumes, .within = rule_.changes_meaning});
    if (!finding) return finding.error();
    out.executed = finding->unverified.empty();
    out.not_executed = std::move(finding->unverified);
    if (!finding->difference.empty()) {
      say(out, Verdict::kUnsound, std::move(finding->difference));
      out.notes = std::move(finding->shown_by);
    }
    return {};
  }

  // Adds the example to an error of a callback.
  Diagnostic in_example(Diagnostic error) const {
    if (!error.where.empty()) error.where += ", ";
    error.where += "in " + alone_.quoted_title();
    return error;
  }

  // Explains why the rule did not fire.
  Status say_why(const rewrite::DriverReport& report, ExampleResult& out) {
    std::string why = reasons(report);
    if (!why.empty()) {
      // The reasons from the driver.
    } else if (!report.rules.at(0).took_part) {
      why = "it takes no part, since its `when` returned false";
    } else if (!rule_.pattern) {
      why = "its `pass` changed nothing";
    } else {
      const auto found = alone_.find_matches(*model_);
      if (!found) return found.error();
      if (!found->empty() && (*found)[0].rejection) {
        why = "rejected: " + (*found)[0].rejection->reason;
      } else {
        why = "the pattern does not match";
        out.notes = nearest();
      }
    }
    out.verdict = Verdict::kMissing;
    out.detail += why;
    return {};
  }

  // How far the pattern got.
  std::string nearest() {
    ir::Graph& graph = model_->graph;
    const auto facts = engine::facts_of(graph);
    const LoadedRule& own = alone_.rule();
    const auto misses = engine::nearest_misses(*own.pattern, graph, *facts,
                                               engine::all_nodes(graph), 1,
                                               sandbox_.limits().deadline);
    return misses.empty()
               ? ""
               : engine::text_of(misses[0], *own.pattern, own.file, graph);
  }

  Status decide(const rewrite::DriverReport& report, ExampleResult& out) {
    if (example_.warned && !any_says(report.warnings, *example_.warned,
                                     &rewrite::Warning::message)) {
      out.detail = "no warning contains '" + *example_.warned + "'";
      out.verdict = Verdict::kMissing;
      if (has_fired(report)) return {};
      out.detail += ", ";
      return say_why(report, out);
    } else if (!example_.warned && !report.warnings.empty()) {
      say(out, Verdict::kNoisy, "warned: " + report.warnings[0].message);
    } else if (example_.assumed && has_fired(report) &&
               !any_says(
                   report.assumptions, *example_.assumed,
                   [](const rewrite::Assumed& each) -> auto& {
                     return each.assumption.text;
                   })) {
      say(out, Verdict::kMissing,
          "no rewrite assumes '" + *example_.assumed + "'");
    } else if (!example_.assumed && !report.assumptions.empty() &&
               example_.after) {
      say(out, Verdict::kNoisy,
          "it assumes '" + report.assumptions[0].assumption.text +
              "', which `assumed` does not mention");
    } else if (example_.matches) {
      const bool found = !report.rules.at(0).found.empty();
      if (*example_.matches && !found) return say_why(report, out);
      if (!*example_.matches && found) {
        say(out, Verdict::kNoisy, "matches where it should not");
      }
    } else if (example_.after) {
      return decide_after(report, out);
    } else if (has_fired(report)) {
      say(out, Verdict::kNoisy, "fired where it should not");
    } else if (example_.rejected &&
               !any_says(report.rules.at(0).rejected, *example_.rejected,
                         &rewrite::Rejected::reason)) {
      out.detail =
          "expected to be rejected with '" + *example_.rejected + "', ";
      return say_why(report, out);
    }
    return {};
  }

  Status decide_after(const rewrite::DriverReport& report, ExampleResult& out) {
    auto after = text::parse_after(*before_, example_.before, *example_.after,
                                   {}, {.check_ops = true});
    if (!after) return alone_.in_file(std::move(after.error()), ", `after`");
    const auto difference = text::difference(**after, *model_);
    if (!difference) return {};
    if (!has_fired(report)) return say_why(report, out);
    if (!text::difference(**after, *before_)) {
      say(out, Verdict::kNoisy, "fired where nothing should change");
    } else {
      say(out, Verdict::kWrong, *difference);
      out.differs = true;
    }
    return {};
  }

  Sandbox& sandbox_;
  const LoadedRule& rule_;
  const Example& example_;
  RuleAlone alone_;
  std::unique_ptr<ir::Model> before_, model_;
};

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"ok",    "missing", "noisy",
                                                "wrong", "unsound", "error"};
  return kNames[static_cast<std::size_t>(verdict)];
}

ExampleRuns run_examples(RuleSet& set, const engine::CompareModels& compare,
                         const ir::Evaluator* evaluator, bool proposes) {
  ExampleRuns out;
  const Deadline& deadline = set.sandbox().limits().deadline;
  for (const auto& rule : set.rules()) {
    for (const Example& example : rule->examples) {
      if (deadline.is_over()) {
        out.stopped = deadline.passed(
            rule->file, std::to_string(out.results.size()) +
                            " examples were run, the next is of rule '" +
                            rule->name + "'");
        return out;
      }
      auto result = ExampleRun(set.sandbox(), *rule, example, evaluator)
                        .run(compare, proposes);
      const auto place =
          static_cast<std::size_t>(&example - rule->examples.data());
      if (result) {
        result->place = place;
        out.results.push_back(std::move(*result));
        continue;
      }
      out.results.push_back({.rule = rule->name,
                             .file = rule->file,
                             .title = example.title,
                             .verdict = Verdict::kError,
                             .detail = result.error().what,
                             .line = example.line,
                             .place = place});
      out.errors.push_back(std::move(result.error()));
      // Further examples would probably reach the limit too.
      if (out.errors.back().kind == ErrorKind::kLimit) break;
    }
  }
  return out;
}

}  // namespace ruleengine::lua
