#include "bindings/cli/line.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <system_error>
#include <type_traits>

#include "core/base/diagnostic.h"

namespace ruleengine::cli {
namespace {

// A plain decimal number within these bounds. Rejects other text and numbers
// that would overflow.
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
    return fmt::format("'{}' is not a {}number from {} to {}", printable(text),
                       std::is_integral_v<T> ? "whole " : "", least, most);
  };
  return {check, fmt::format("[{} to {}]", least, most)};
}

}  // namespace

CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  return from_to(least, most);
}
CLI::Validator number(double least, double most) {
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
                   "seconds for the whole command; 3600 for each model")
      ->check(seconds());
  return verb;
}

void add_memory_option(CLI::App* verb, Options& o) {
  verb->add_option("--limit-memory", o.limit_memory,
                   "MiB of memory for rule code, and for what it adds to a "
                   "model; 1024")
      ->check(whole(1, std::uint64_t{1} << 20));
}

void add_paths(CLI::App* verb, Options& o, const char* what) {
  verb->add_option("paths", o.paths, what)->required();
}

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

void add_exact(CLI::App* verb, Options& o) {
  verb->add_flag("--exact", o.exact,
                 "leave out rewrites that rest on an assumption");
}

void add_first(CLI::App* verb, Options& o) {
  verb->add_option(
      "--first", o.first,
      "rules to run over the model first, in memory; takes all paths "
      "up to the next option, so give it last");
}

}  // namespace ruleengine::cli
