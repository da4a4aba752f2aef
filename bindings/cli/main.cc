// The command line: parses arguments into Options and calls one verb.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
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

// Long forms of options that exist only in the short form.
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
                 .what = "no verb given",
                 .hint = "ruleengine --help"};
  const auto word = std::ranges::find_if(
      words, [](const std::string& each) { return !each.starts_with('-'); });
  if (word == words.end()) return out;
  std::vector<std::string> verbs;
  for (const CLI::App* each : app.get_subcommands({})) {
    verbs.push_back(each->get_name());
  }
  out.what = "no verb '" + *word + "'";
  out.hint = suggestion(*word, verbs);
  return out;
}

// The error of the parser, in the terms of the verb that was called.
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
  for (AddVerb* add : kVerbs) add(line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return fail(misuse(app, error, {argv + std::min(1, argc), argv + argc}));
  }
  io::guard_mapping_faults();
  io::clean_up_on_signals();
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
    // Printing to stdout throws this; writing files does not throw.
    return cli::fail({ErrorKind::kWrite, "the output cannot be written",
                      "stdout", "", error.code().message(), ""});
  } catch (const std::exception& error) {
    return cli::fail({ErrorKind::kInternal, "internal error", "", "",
                      error.what(),
                      "this is a bug of ruleengine; please report it"});
  }
}
