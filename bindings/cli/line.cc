#include "bindings/cli/line.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <type_traits>

#include "bindings/cli/terminal.h"
#include "core/base/diagnostic.h"
#include "core/base/suggest.h"
#include "core/base/version.h"

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

// Shows a flag that may have a value as --name[=value].
class HelpForm : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option,
                               bool is_positional) const override {
    const auto name = Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string& values = option->get_option_text();
    if (values.empty()) return Formatter::make_option_opts(option);
    return "[=" + values + "]";
  }
};

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
Diagnostic wrong_call(const CLI::App& app, const CLI::ParseError& error,
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

}  // namespace

Setting& Setting::required() {
  option_->required();
  return *this;
}
Setting& Setting::whole(std::uint64_t least, std::uint64_t most) {
  option_->check(from_to(least, most));
  return *this;
}
Setting& Setting::number(double least, double most) {
  option_->check(from_to(least, most));
  return *this;
}
Setting& Setting::seconds() { return number(1e-9, 1e9); }
Setting& Setting::separated_by(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}
Setting& Setting::takes(const std::string& name) {
  option_->type_name(name);
  return *this;
}
Setting& Setting::each(const std::string& name) {
  option_->allow_extra_args(false);
  return takes(name);
}

void VerbLine::flag(const std::string& name, bool& to,
                    const std::string& what) {
  app_->add_flag(name, to, what);
}
void VerbLine::flag(const std::string& name,
                    const std::vector<std::string>& words, std::string& to,
                    const std::string& what) {
  app_->add_flag(fmt::format("{}{{{}}}", name, words[0]), to, what)
      ->option_text(
          fmt::format("{}", fmt::join(words.begin() + 1, words.end(), "|")));
}
template <typename T>
Setting VerbLine::option(const std::string& name, T& to,
                         const std::string& what) {
  return Setting(app_->add_option(name, to, what));
}
template <>
Setting VerbLine::option(const std::string& name,
                         std::optional<std::string>& to,
                         const std::string& what) {
  return Setting(app_->add_option_function<std::string>(
      name, [&to](const std::string& given) { to = given; }, what));
}
using Name = const std::string&;
template Setting VerbLine::option(Name, std::string&, Name);
template Setting VerbLine::option(Name, std::vector<std::string>&, Name);
template Setting VerbLine::option(Name, int&, Name);
template Setting VerbLine::option(Name, std::int64_t&, Name);
template Setting VerbLine::option(Name, std::uint64_t&, Name);
template Setting VerbLine::option(Name, double&, Name);

void VerbLine::mebibytes(const std::string& name, std::size_t& to,
                         std::uint64_t most, const std::string& what) {
  app_->add_option_function<std::uint64_t>(
          name, [&to](std::uint64_t given) { to = std::size_t{given} << 20; },
          what)
      ->check(from_to(std::uint64_t{1}, most));
}

void VerbLine::paths(const std::string& name, Flags& flags,
                     const std::string& what) {
  option(name, flags.paths, what).takes("");
}
void VerbLine::load_limits(Flags& flags) {
  option("--limit-load", flags.limits.load_seconds,
         "seconds for loading one rule file; 2")
      .seconds();
  mebibytes("--limit-memory", flags.limits.memory, std::uint64_t{1} << 20,
            "MiB of memory for rule code, and for what it adds to a model; "
            "1024");
}
void VerbLine::rules(RuleFlags& flags) {
  rules_alone(flags);
  flag("--exact", flags.run.exact,
       "leave out rewrites that rest on an assumption");
}
void VerbLine::rules_alone(RuleFlags& flags) {
  option("--set", flags.sets, "set an option of a rule; repeatable")
      .each("RULE.OPTION=VALUE");
  option("--limit-callback", flags.limits.callback_seconds,
         "seconds for one callback of a rule; 5")
      .seconds();
  load_limits(flags);
}
void VerbLine::first(RuleFlags& flags) {
  option("--first", flags.first,
         "rules to run over the model first, in memory; takes all paths "
         "up to the next option, so give it last")
      .takes("RULE");
}
void VerbLine::inputs(Flags& flags, InputFlags& inputs, const char* dims) {
  option("--inputs", inputs.how.inputs, "an .npz file with an array an input")
      .takes("FILE.npz");
  option("--dims", inputs.dims, dims).separated_by(',').takes("NAME=SIZE");
  option("--seed", inputs.how.seed, "of random inputs and random ops; 0");
  option("--threads", inputs.how.threads, "threads; one for each core")
      .whole(1, 4096);
  mebibytes("--limit-tensors", flags.limits.tensors, std::uint64_t{1} << 40,
            "MiB of tensors at once; three quarters of the machine's");
}
void VerbLine::device(InputFlags& inputs) {
  option(
      "--device", inputs.how.device,
      "cuda is the first GPU, with the CPU for what it cannot; auto is cuda, "
      "and cpu where there is no GPU or it fails; cpu")
      .takes("cpu|cuda|auto");
  flag("--tf32", inputs.how.tf32,
       "a GPU rounds the factors of float32 products to 10 bits of mantissa");
}
void VerbLine::tolerance(std::optional<std::string>& to) {
  option("--tolerance", to,
         "how far outputs may differ, instead of the rounding of their types: "
         "ABS plus REL times the numbers' size")
      .each("ABS,REL");
}
void VerbLine::tuning(TuningFlags& flags) {
  option("--runtime", flags.runtime,
         "what measures, this program or another (docs/tune.md); ours")
      .takes("ours|onnxruntime|openvino|COMMAND");
  option("--time", flags.seconds, "seconds to measure in, about; 60")
      .number(1, 1e6);
  option("--record", flags.record, "a file for the measurements").takes("FILE");
  option("--replay", flags.replay,
         "use these measurements instead of making new ones")
      .takes("FILE");
}

Line::Line()
    : app_(std::make_unique<CLI::App>(
          "Rewrites ONNX models with rules written in Lua.", "ruleengine")) {
  app_->formatter(std::make_shared<HelpForm>());
  app_->set_version_flag("--version", fmt::format("ruleengine {}", kVersion));
  app_->require_subcommand(1);
  app_->footer("`ruleengine VERB --help` says more, with an example.");
}
Line::~Line() = default;

VerbLine Line::add_verb(std::function<int()> run, Flags& flags,
                        const std::string& name, const std::string& what,
                        const char* example) {
  flags.example = example;
  CLI::App* const app = app_->add_subcommand(name, what);
  app->callback([this, run = std::move(run)] { verb_ = run; });
  app->footer(std::string(kExample) + example);
  VerbLine out(app);
  out.option("--limit-time", flags.seconds,
             "seconds for the whole command; 3600 for each model")
      .seconds();
  return out;
}

std::optional<int> Line::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);
    return fail(
        wrong_call(*app_, error, {argv + std::min(1, argc), argv + argc}));
  }
  return std::nullopt;
}

}  // namespace ruleengine::cli
