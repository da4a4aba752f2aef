// The command line: parses arguments into Options and calls one verb.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/base/suggest.h"
#include "core/base/version.h"
#include "core/io/load.h"
#include "core/io/signals.h"

namespace ruleengine::cli {
namespace {

using Verb = int (*)(const Options&);

// The command line: what it may say, and what it said.
struct Line {
  CLI::App app{"Rewrites ONNX models with rules written in Lua.", "ruleengine"};
  Options options;
  Verb verb = nullptr;
};

// A plain decimal number in these bounds: what is no number, wraps around or
// has no end must not pass for another.
template <typename T>
CLI::Validator from_to(T least, T most) {
  const auto check = [=](const std::string& text) -> std::string {
    T number = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end && number >= least &&
        number <= most) {
      return "";
    }
    return fmt::format("'{}' is no {}number from {} to {}", printable(text),
                       std::is_integral_v<T> ? "whole " : "", least, most);
  };
  return {check, fmt::format("[{} to {}]", least, most)};
}
CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  return from_to(least, most);
}
CLI::Validator seconds() { return from_to(1e-9, 1e9); }

CLI::App* add_verb(Line& line, Verb run, const char* name, const char* what,
                   const char* example) {
  CLI::App* verb = line.app.add_subcommand(name, what);
  verb->callback([&line, run, example] {
    line.verb = run;
    line.options.example = example;
  });
  verb->footer(fmt::format("Example:\n  {}", example));
  verb->add_option("--limit-time", line.options.limit_time,
                   "seconds for the whole of it; 3600 for each model")
      ->check(seconds());
  return verb;
}

void add_memory_option(CLI::App* verb, Options& o) {
  verb->add_option("--limit-memory", o.limit_memory,
                   "MiB of memory for rule code, and for what it makes the "
                   "engine keep; 1024")
      ->check(whole(1, std::uint64_t{1} << 20));
}

void add_paths(CLI::App* verb, Options& o, const char* what) {
  verb->add_option("paths", o.paths, what)->required();
}

// What every verb that loads rules takes.
void add_rule_options(CLI::App* verb, Options& o) {
  verb->add_option("--set", o.sets, "set an option of a rule; repeatable")
      ->type_name("RULE.OPTION=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--limit-callback", o.limit_callback,
                   "seconds for one callback of a rule; 5")
      ->check(seconds());
  verb->add_option("--limit-load", o.limit_load,
                   "seconds for loading one rule file; 2")
      ->check(seconds());
  add_memory_option(verb, o);
}

// What every verb takes that runs rules over models.
void add_exact(CLI::App* verb, Options& o) {
  verb->add_flag("--exact", o.exact,
                 "leave out rewrites that rest on an assumption");
}

void add_run(Line& line) {
  Options& o = line.options;
  CLI::App* run = add_verb(line, cli::run, "run", "rewrite models with rules",
                           "ruleengine run rules/*.lua model.onnx -o out.onnx");
  add_paths(run, o, "rules (*.lua, folders) and models (*.onnx, *.onnxtxt)");
  run->add_option("-o", o.output,
                  "the result; NAME.rewritten.onnx beside the model, or a "
                  "folder when there are several models");
  run->add_option("--target", o.target, "auto, portable, onnx or ort");
  run->add_option("--opset", o.opset,
                  "raise the result's opset to this; not with portable")
      ->check(whole(1, 1'000'000));
  run->add_option("--report", o.report, "write a report as JSON");
  run->add_option("--verify", o.verify, "compare model and result by running")
      ->expected(0, 1)
      ->default_str("model");
  run->add_flag("--share-data", o.share_data,
                "refer to the model's external data instead of copying it");
  run->add_flag("--dry-run", o.dry_run, "do everything but write the result");
  run->add_flag("--require-match", o.require_match,
                "exit code 1 when no rule rewrote anything in a model");
  run->add_option("--limit-rewrites", o.limit_rewrites, "1000000")
      ->check(whole(0, std::uint64_t{1} << 62));
  add_rule_options(run, o);
  add_exact(run, o);
  run->add_option("--jobs", o.jobs, "models side by side; 1")
      ->check(whole(1, 256));
  run->add_flag("-q", o.quiet, "only warnings and errors");
  run->add_flag("-v", o.verbose,
                "a row for every rule, a line for every rejection");
}

constexpr const char* kFirst =
    "rules to run over the model first, in memory; all paths up to the next "
    "option are its own, so give it last";

void add_questions(Line& line) {
  Options& o = line.options;
  CLI::App* match = add_verb(line, cli::match, "match",
                             "show where each rule would fire; write nothing",
                             "ruleengine match rules/attention.lua model.onnx");
  add_paths(match, o, "rules and models");
  match->add_option("--first", o.first, kFirst);
  match->add_flag("--json", o.json, "as JSON");
  add_rule_options(match, o);
  add_exact(match, o);

  CLI::App* explain = add_verb(
      line, cli::explain, "explain",
      "say how far a rule gets in a model, and what stops it",
      "ruleengine explain my_rule.lua model.onnx --first rules/canonical.lua");
  explain
      ->add_option("RULE MODEL [NODE]", o.paths,
                   "a rule, a model, and a node by its name or that of "
                   "one of its outputs")
      ->required()
      ->expected(2, 3);
  explain->add_option("--first", o.first, kFirst);
  add_rule_options(explain, o);
  add_exact(explain, o);

  CLI::App* coverage = add_verb(
      line, cli::coverage, "coverage",
      "count the attention blocks that rules compose, and say what stops them",
      "ruleengine coverage model.onnx --min 100");
  add_paths(coverage, o, "models, and rules instead of those that ship");
  coverage
      ->add_option("--min", o.min,
                   "exit code 1 when a model has less, in percent")
      ->check(from_to(0.0, 100.0));
  coverage->add_flag("--json", o.json, "as JSON");
  add_rule_options(coverage, o);
  add_exact(coverage, o);

  CLI::App* collectives = add_verb(
      line, cli::collectives, "collectives",
      "what the ranks of a model send to each other, before and after rules",
      "ruleengine collectives rank0.onnx");
  add_paths(collectives, o,
            "models, and rules instead of the packs linear, quantization and "
            "sequence_parallel");
  collectives->add_flag("--json", o.json, "as JSON");
  add_rule_options(collectives, o);
  add_exact(collectives, o);

  CLI::App* test =
      add_verb(line, cli::test, "test", "run the examples of rules",
               "ruleengine test rules/attention.lua");
  add_paths(test, o, "rules");
  test->add_flag("--json", o.json, "as JSON");
  test->add_flag("-q", o.quiet, "only what is not ok");
  add_rule_options(test, o);
}

void add_views(Line& line) {
  Options& o = line.options;
  CLI::App* report =
      add_verb(line, cli::report, "report",
               "a model as a table of nodes, then its weights and ops",
               "ruleengine report model.onnx --first rules/canonical.lua");
  add_paths(report, o, "models");
  report->add_option("--first", o.first, kFirst);
  report->add_flag("--json", o.json, "as JSON");
  add_rule_options(report, o);
  add_exact(report, o);
  CLI::App* print = add_verb(line, cli::print, "print", "a model as ONNX text",
                             "ruleengine print model.onnx");
  add_paths(print, o, "models");
  print->add_flag("--weights", o.weights, "large constants in full");
  CLI::App* code = add_verb(line, cli::code, "code",
                            "the graph of a model as Lua, one statement a node",
                            "ruleengine code model.onnx > model.lua");
  add_paths(code, o, "models");
  code->add_option("--first", o.first, kFirst);
  add_rule_options(code, o);
  add_exact(code, o);
  CLI::App* build =
      add_verb(line, cli::build, "build",
               "make a model of such Lua; weights are the model's",
               "ruleengine build model.lua model.onnx -o again.onnx");
  add_paths(build, o, "the file of code and the model that it was printed of");
  build->add_option("-o", o.output, "the result")->required();
  build->add_option("--limit-load", o.limit_load, "seconds for the file; 2")
      ->check(seconds());
  add_memory_option(build, o);
}

void add_draw(Line& line) {
  Options& o = line.options;
  CLI::App* draw = add_verb(
      line, cli::draw, "draw",
      "a model as a picture, with what rules match in it",
      "ruleengine draw model.onnx -o model.html --rule rules/attention.lua");
  draw->add_option("paths", o.paths,
                   "a model, and rules whose matches are coloured");
  draw->add_option("-o", o.output,
                   "FILE.svg, FILE.html (a page to move about in) or FILE.dot; "
                   "the first two need Graphviz")
      ->required();
  draw->add_option("--rule", o.rules, "more rules");
  draw->add_option("--first", o.first, kFirst);
  draw->add_option("--boxes", o.boxes,
                   "what would be more in one picture stays closed; 160")
      ->check(whole(4, 100'000));
  add_rule_options(draw, o);
  add_exact(draw, o);
}

// `explain RULE MODEL NODE`: the third word is a node, whatever it looks like,
// unless the model is still to come.
void split_node(Options& o) {
  const auto is_model = [](const std::string& path) {
    return path.ends_with(".onnx") || path.ends_with(".onnxtxt");
  };
  if (o.paths.size() < 3 || !(is_model(o.paths[0]) || is_model(o.paths[1]))) {
    return;
  }
  o.node = o.paths.back();
  o.paths.pop_back();
}

// Spelled out elsewhere, short here.
constexpr std::pair<std::string_view, std::string_view> kShort[] = {
    {"--out", "-o"},
    {"--output", "-o"},
    {"--quiet", "-q"},
    {"--verbose", "-v"}};

// "did you mean '-o'?", or "".
std::string option_meant(const CLI::App& verb, std::string_view word) {
  word = word.substr(0, word.find('='));
  for (const auto& [spelled_out, name] : kShort) {
    if (word == spelled_out && verb.get_option_no_throw(std::string(name))) {
      return did_you_mean({&name, 1});
    }
  }
  if (!word.starts_with("--")) return "";
  std::vector<std::string> known;
  for (const CLI::Option* option : verb.get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view meant = nearest(word, names);
  return meant.empty() ? "" : did_you_mean({&meant, 1});
}

Diagnostic no_verb(const CLI::App& app, const std::vector<std::string>& words) {
  Diagnostic out{.kind = ErrorKind::kUsage,
                 .what = "no verb was given",
                 .hint = "ruleengine --help"};
  const auto word = std::ranges::find_if(
      words, [](const std::string& each) { return !each.starts_with('-'); });
  if (word == words.end()) return out;
  std::vector<std::string> verbs;
  for (const CLI::App* each : app.get_subcommands({})) {
    verbs.push_back(each->get_name());
  }
  out.what = "there is no verb '" + *word + "'";
  out.hint = suggestion(*word, verbs);
  return out;
}

// What is wrong with a command line, in the terms of the verb it names.
Diagnostic misuse(const CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& words) {
  const auto verbs = app.get_subcommands();
  if (verbs.empty()) return no_verb(app, words);
  const CLI::App& verb = *verbs.front();
  const std::string name = "ruleengine " + verb.get_name();
  Diagnostic out{.kind = ErrorKind::kUsage,
                 .what = error.what(),
                 .hint = name + " --help"};
  const auto is_option = [](const std::string& word) {
    return word.starts_with('-');
  };
  if (const auto before = app.remaining(); !before.empty()) {
    out.what = "the verb comes first, then its options";
    out.found = before.front();
    return out;
  }
  const auto surplus = verb.remaining();
  const auto option = std::ranges::find_if(surplus, is_option);
  if (option == surplus.end()) return out;
  out.what = fmt::format("{} has no option '{}'", verb.get_name(), *option);
  const std::string meant = option_meant(verb, *option);
  if (!meant.empty()) out.hint = meant + " (" + out.hint + ")";
  return out;
}

int parse_and_run(int argc, char** argv) {
  Line line;
  CLI::App& app = line.app;
  app.set_version_flag("--version", fmt::format("ruleengine {}", kVersion));
  app.require_subcommand(1);
  app.footer("`ruleengine VERB --help` says more, with an example.");
  add_run(line);
  add_questions(line);
  add_views(line);
  add_draw(line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return fail(misuse(app, error, {argv + std::min(1, argc), argv + argc}));
  }
  if (line.verb == explain) split_node(line.options);
  io::guard_mapping_faults();
  io::remove_names_on_signals();
  const int code = line.verb(line.options);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::system_error(errno, std::generic_category());
  }
  return code;
}

}  // namespace
}  // namespace ruleengine::cli

int main(int argc, char** argv) {
  using namespace ruleengine;
  try {
    return cli::parse_and_run(argc, argv);
  } catch (const std::bad_alloc&) {
    return cli::fail({ErrorKind::kLimit, "out of memory", "", "", "", ""});
  } catch (const std::system_error& error) {
    // What prints to stdout throws this; files are written without throwing.
    return cli::fail({ErrorKind::kWrite, "the output cannot be written",
                      "stdout", "", error.code().message(), ""});
  } catch (const std::exception& error) {
    return cli::fail({ErrorKind::kInternal, "internal error", "", "",
                      error.what(),
                      "this is a bug of ruleengine; please report it"});
  }
}
