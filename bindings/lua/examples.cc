#include "bindings/lua/examples.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "bindings/lua/callbacks/rule.h"
#include "bindings/lua/example_texts.h"
#include "core/engine/nearest_miss.h"
#include "core/engine/options.h"
#include "core/rewrite/driver.h"
#include "core/text/equivalent.h"
#include "core/text/parse.h"
#include "core/text/print.h"

namespace ruleengine::lua {
namespace {

rewrite::DriverOptions engine_options(const Deadline& run) {
  rewrite::DriverOptions options;
  // Examples are small; a rule that needs more rewrites feeds itself.
  options.limits.rewrites = 10'000;
  options.limits.deadline = Deadline(60).or_before(run);
  options.facts = engine::facts_of;
  return options;
}

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
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (count == kMostLines) return out + "...\n";
    out += printable(line, kWidth) + "\n";
    if (line == "}") break;  // functions of the model follow
  }
  return out;
}

bool rejected_with(const rewrite::DriverReport& report,
                   const std::string& reason) {
  for (const rewrite::Rejected& r : report.rules.at(0).rejected) {
    if (r.reason.find(reason) != std::string::npos) return true;
  }
  return false;
}

bool warned_with(const rewrite::DriverReport& report, const std::string& text) {
  for (const rewrite::Warning& w : report.warnings) {
    if (w.message.find(text) != std::string::npos) return true;
  }
  return false;
}

bool assumed_with(const rewrite::DriverReport& report,
                  const std::string& text) {
  for (const rewrite::Assumed& each : report.assumptions) {
    if (each.assumption.text.find(text) != std::string::npos) return true;
  }
  return false;
}

// Runs one example of one rule.
class ExampleRun {
 public:
  ExampleRun(Sandbox& sandbox, const LoadedRule& rule, const Example& example,
             const ir::Evaluator* evaluator)
      : sandbox_(sandbox),
        rule_(rule),
        example_(example),
        evaluator_(evaluator) {}

  Result<ExampleResult> run(const engine::CompareModels& compare,
                            bool proposes) {
    ExampleResult out{.rule = rule_.name,
                      .file = rule_.file,
                      .title = example_.title,
                      .line = line()};
    auto before = parse();
    if (!before) return before.error();
    before_ = std::move(*before);
    auto model = parse();
    if (!model) return model.error();
    model_ = std::move(*model);
    auto report = rewrite_alone();
    if (!report) return in_example(std::move(report.error()));
    Status decided = decide(*report, out);
    if (!decided) return decided.error();
    if (out.verdict != Verdict::kOk && fired(*report)) {
      out.notes = shown(*model_);
    }
    const bool is_asked =
        out.verdict == Verdict::kOk || (proposes && out.differs);
    if (compare == nullptr || !fired(*report) || !is_asked) return out;
    const bool assumes = !report->assumptions.empty() || example_.assumed;
    if (Status s = execute(compare, assumes, out); !s) return s.error();
    if (out.verdict == Verdict::kWrong) {
      out.found = expected_text(*before_, example_.before, *model_);
    }
    return out;
  }

 private:
  static bool fired(const rewrite::DriverReport& report) {
    return report.rules.at(0).rewrites > 0;
  }
  static void say(ExampleResult& out, Verdict verdict, std::string detail) {
    out.verdict = verdict;
    out.detail = std::move(detail);
  }

  // Compares the graphs by running them.
  Status execute(const engine::CompareModels& compare, bool assumes,
                 ExampleResult& out) {
    const auto& within = rule_.changes_meaning;
    if (example_.changes_meaning || (within && !within->is_bounded())) {
      out.not_executed = example_.changes_meaning
                             ? "its options change the meaning"
                             : "the rule changes the meaning";
      return {};
    }
    auto finding =
        compare(*before_, *model_, {.assumes = assumes, .within = within});
    if (!finding) return finding.error();
    out.executed = finding->unverified.empty();
    out.not_executed = std::move(finding->unverified);
    if (!finding->difference.empty()) {
      say(out, Verdict::kUnsound, std::move(finding->difference));
      out.notes = std::move(finding->shown_by);
    }
    return {};
  }

  // If a function of the file returned the table, the lines of its examples are
  // unknown.
  int line() const { return example_.line > 0 ? example_.line : rule_.line; }

  std::string quoted_title() const {
    return "example '" + printable(example_.title) + "'";
  }

  // Adds the example to an error of a callback.
  Diagnostic in_example(Diagnostic error) const {
    if (!error.where.empty()) error.where += ", ";
    error.where += "in " + quoted_title();
    return error;
  }

  // An error in the text of an example is an error in the rule file.
  Diagnostic in_file(Diagnostic error, const char* part = "") const {
    error.kind = ErrorKind::kRule;
    error.where = rule_.file + ":" + std::to_string(line()) + ", " +
                  quoted_title() + part +
                  (error.where.empty() ? "" : ", " + error.where);
    return error;
  }

  rewrite::DriverOptions engine() const {
    return engine_options(sandbox_.limits().deadline);
  }

  Result<std::unique_ptr<ir::Model>> parse() const {
    auto model =
        text::parse_model(example_.before, example_.file, {.check_ops = true});
    if (!model) return in_file(std::move(model.error()));
    (*model)->limit_growth(sandbox_.limits().total_bytes);
    (*model)->evaluator = evaluator_;
    return model;
  }

  Result<rewrite::DriverReport> rewrite_alone() {
    own_ = rule_;
    own_.options = rule_.own_options;
    for (const auto& [name, value] : rule_.options) {
      if (!own_.options.contains(name)) own_.unset_options.push_back(name);
    }
    for (const auto& [name, value] : example_.options) {
      own_.options.insert_or_assign(name, value);
    }
    alone_ = make_rule(sandbox_, own_);
    rewrite::Rule* const rule = alone_.get();
    return rewrite::run(*model_, {&rule, 1}, engine());
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
      rewrite::Rule* const rule = alone_.get();
      const auto found = rewrite::find_matches(*model_, {&rule, 1}, engine());
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
    const auto facts = engine().facts(graph);
    const auto misses = engine::nearest_misses(*own_.pattern, graph, *facts,
                                               engine::all_nodes(graph), 1,
                                               sandbox_.limits().deadline);
    return misses.empty()
               ? ""
               : engine::text_of(misses[0], *own_.pattern, own_.file, graph);
  }

  Status decide(const rewrite::DriverReport& report, ExampleResult& out) {
    if (example_.warned && !warned_with(report, *example_.warned)) {
      out.detail = "no warning contains '" + *example_.warned + "'";
      out.verdict = Verdict::kMissing;
      if (fired(report)) return {};
      out.detail += ", ";
      return say_why(report, out);
    } else if (!example_.warned && !report.warnings.empty()) {
      say(out, Verdict::kNoisy, "warned: " + report.warnings[0].message);
    } else if (example_.assumed && fired(report) &&
               !assumed_with(report, *example_.assumed)) {
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
    } else if (fired(report)) {
      say(out, Verdict::kNoisy, "fired where it should not");
    } else if (example_.rejected &&
               !rejected_with(report, *example_.rejected)) {
      out.detail =
          "expected to be rejected with '" + *example_.rejected + "', ";
      return say_why(report, out);
    }
    return {};
  }

  Status decide_after(const rewrite::DriverReport& report, ExampleResult& out) {
    auto after = text::parse_after(*before_, example_.before, *example_.after,
                                   {}, {.check_ops = true});
    if (!after) return in_file(std::move(after.error()), ", `after`");
    const auto difference = text::difference(**after, *model_);
    if (!difference) return {};
    if (!fired(report)) return say_why(report, out);
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
  const ir::Evaluator* evaluator_;
  std::unique_ptr<ir::Model> before_, model_;
  LoadedRule own_;  // with the example's options
  std::unique_ptr<rewrite::Rule> alone_;
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
      if (result) {
        result->place =
            static_cast<std::size_t>(&example - rule->examples.data());
        out.results.push_back(std::move(*result));
        continue;
      }
      out.results.push_back({.rule = rule->name,
                             .file = rule->file,
                             .title = example.title,
                             .verdict = Verdict::kError,
                             .detail = result.error().what,
                             .line = example.line});
      out.errors.push_back(std::move(result.error()));
      // Further examples would probably reach the limit too.
      if (out.errors.back().kind == ErrorKind::kLimit) break;
    }
  }
  return out;
}

}  // namespace ruleengine::lua
