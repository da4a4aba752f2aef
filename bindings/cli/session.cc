#include "bindings/cli/session.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <variant>

#include "bindings/cli/terminal.h"
#include "core/base/folder.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

// Parses RULE.OPTION=VALUE, split at the first dot and the first equals sign.
Result<lua::SetOption> parse_set(const std::string& text) {
  const auto dot = text.find('.');
  const auto equals = text.find('=', dot == std::string::npos ? 0 : dot);
  if (dot == std::string::npos || equals == std::string::npos) {
    Diagnostic d = usage("--set is malformed", text,
                         "for instance --set merge_linear.loose_scales=true");
    d.expected = "RULE.OPTION=VALUE";
    return d;
  }
  return lua::SetOption{text.substr(0, dot),
                        text.substr(dot + 1, equals - dot - 1),
                        text.substr(equals + 1)};
}

// Of the model "-", which is read when it is loaded.
Status check_stdin(const Paths& paths) {
  const auto given = std::ranges::count(paths.models, "-");
  if (given == 0) return {};
  if (given > 1) return usage("stdin has one model", "- twice");
  if (::isatty(STDIN_FILENO) != 0) {
    return usage("the model would be read from the terminal", "-",
                 "redirect stdin, or name a file");
  }
  return {};
}

bool is_folder_of_models(const std::string& path) {
  std::error_code error;
  return std::ranges::any_of(names_in(path, error), is_model);
}

// A folder stands for its rules. A user may forget that for a folder of models.
Diagnostic no_model(const std::vector<std::string>& rules,
                    const std::string& example) {
  const auto is_folder = [](const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error);
  };
  auto folder = std::ranges::find_if(rules, is_folder_of_models);
  const bool has_models = folder != rules.end();
  if (!has_models) folder = std::ranges::find_if(rules, is_folder);
  if (folder == rules.end()) return usage("no model given", "", example);
  Diagnostic d = usage(
      "no model given", *folder + ", a folder",
      has_models ? "name the models: " + (fs::path(*folder) / "*.onnx").string()
                 : example);
  d.expected = "models (*.onnx, *.onnxtxt); a folder stands for its *.lua";
  return d;
}

}  // namespace

bool is_model(const std::string& path) {
  const fs::path ending = fs::path(path).extension();
  return path == "-" || ending == ".onnx" || ending == ".onnxtxt";
}

Diagnostic usage(std::string what, std::string found, std::string hint) {
  return {ErrorKind::kUsage, std::move(what), "", "",
          std::move(found),  std::move(hint)};
}

Result<Paths> sort_paths(const Flags& flags, Wants wants) {
  Paths out;
  for (const std::string& path : flags.paths) {
    std::error_code error;
    if (fs::path(path).extension() == ".lua" || fs::is_directory(path, error)) {
      out.rules.push_back(path);
    } else if (is_model(path)) {
      out.models.push_back(path);
    } else {
      Diagnostic d = usage("this is neither a rule nor a model");
      d.where = path;
      d.expected =
          "a rule (*.lua, a folder) or a model (*.onnx, *.onnxtxt, or -)";
      return d;
    }
  }
  if ((wants == Wants::kRules || wants == Wants::kBoth) && out.rules.empty()) {
    return usage("no rules given", "", flags.example);
  }
  if (wants != Wants::kRules && out.models.empty()) {
    return no_model(out.rules, flags.example);
  }
  if (wants == Wants::kModels && !out.rules.empty()) {
    return usage("this verb takes models only: " + out.rules[0], flags.example);
  }
  if (wants == Wants::kRules && !out.models.empty()) {
    return usage("this verb takes rules only: " + out.models[0], flags.example);
  }
  if (auto status = check_stdin(out); !status) return status.error();
  return out;
}

api::Limits limits_of(const Flags& flags) {
  constexpr double kHour = 3600;
  const auto models = std::ranges::count_if(
      flags.paths, [](const std::string& path) { return is_model(path); });
  const double seconds =
      flags.seconds > 0
          ? flags.seconds
          : kHour * static_cast<double>(std::max<std::ptrdiff_t>(models, 1));
  api::Limits out = flags.limits;
  out.deadline = Deadline(seconds, flags.started);
  return out;
}

Result<std::unique_ptr<ir::Model>> load_model(const std::string& path,
                                              const Flags& flags, Use use) {
  return api::load_model(path, {.limits = limits_of(flags),
                                .needs_data = use == Use::kWhole,
                                .warn = warn});
}

Result<std::unique_ptr<ir::Model>> load_after_first(const std::string& path,
                                                    const RuleFlags& flags,
                                                    Use use) {
  auto model = load_model(path, flags, use);
  if (!model) return model;
  auto status = run_first(**model, flags);
  return status ? std::move(model)
                : Result<std::unique_ptr<ir::Model>>(status.error());
}

Status run_first(ir::Model& model, const RuleFlags& flags) {
  const auto options = rule_options(flags);
  if (!options) return options.error();
  auto status =
      api::run_rules(model, flags.first, *options, run_options(flags));
  return status ? status : of_set(status.error());
}

engine::RunOptions run_options(const RuleFlags& flags) {
  engine::RunOptions out = flags.run;
  out.limits.deadline = limits_of(flags).deadline;
  return out;
}

Diagnostic of_set(Diagnostic error) {
  if (error.kind == ErrorKind::kUsage && error.expected == "a boolean") {
    error.expected = "true or false";
  }
  return error;
}

Result<api::RuleOptions> rule_options(const RuleFlags& flags) {
  api::RuleOptions out{.limits = limits_of(flags)};
  for (const std::string& text : flags.sets) {
    auto set = parse_set(text);
    if (!set) return set.error();
    out.sets.push_back(*std::move(set));
  }
  return out;
}

Result<api::LoadedRules> load_rules(const std::vector<std::string>& paths,
                                    const RuleFlags& flags,
                                    const std::vector<std::string>& shipped) {
  const auto options = rule_options(flags);
  if (!options) return options.error();
  auto rules = api::load_rules(paths, *options, shipped);
  return rules ? std::move(rules)
               : Result<api::LoadedRules>(of_set(rules.error()));
}

std::string why_absent(const engine::Absent& rule) {
  std::string why = "takes no part, since its `when` returned false";
  if (rule.switches.empty()) return why;
  return why + " (options of its own or its pack's: " + rule.switches + ")";
}

Result<engine::FixedSizes> parse_dims(const InputFlags& flags, bool may_tie) {
  engine::FixedSizes out;
  for (const std::string& text : flags.dims) {
    const std::size_t at = text.rfind('=');
    const std::string name = text.substr(0, at);
    const std::string given = at == text.npos ? "" : text.substr(at + 1);
    std::int64_t size = -1;
    const char* end = given.data() + given.size();
    const auto read = std::from_chars(given.data(), end, size);
    const bool is_size = read.ec == std::errc() && read.ptr == end && size >= 0;
    const bool is_name = may_tie && !given.empty() &&
                         given.find_first_of("-+") != 0 &&
                         given.find_first_not_of("0123456789") != given.npos;
    if (out.contains(name)) {
      return usage("a dimension has two sizes", printable(text),
                   "give each name once");
    }
    if (name.empty() || !(is_size || is_name)) {
      return Diagnostic{.kind = ErrorKind::kUsage,
                        .what = "a size of --dims cannot be read",
                        .expected = may_tie
                                        ? "NAME=SIZE or NAME=NAME, such as "
                                          "batch=2,mask_length=seq"
                                        : "NAME=SIZE, such as batch=2,seq=7",
                        .found = printable(text)};
    }
    if (is_size) {
      out[name] = size;
    } else {
      out[name] = given;
    }
  }
  return out;
}

Result<std::optional<runtime::Tolerance>> parse_tolerance(
    const std::optional<std::string>& text) {
  if (!text) return std::optional<runtime::Tolerance>();
  runtime::Tolerance out;
  const std::size_t comma = std::min(text->find(','), text->size());
  const auto reads = [&](std::size_t begin, std::size_t end, double& number) {
    const char* const last = text->data() + end;
    const auto [at, error] =
        std::from_chars(text->data() + begin, last, number);
    return error == std::errc() && at == last && std::isfinite(number) &&
           number >= 0;
  };
  if (comma < text->size() && reads(0, comma, out.abs) &&
      reads(comma + 1, text->size(), out.rel)) {
    return std::optional(out);
  }
  Diagnostic error = usage("--tolerance cannot be read", printable(*text),
                           "for instance --tolerance 1e-5,1e-3");
  error.expected = "ABS,REL: two finite numbers from 0 on";
  return error;
}

Result<api::ExecutionOptions> execution_options(const Flags& flags,
                                                const InputFlags& inputs) {
  const auto sizes = parse_dims(inputs, false);
  if (!sizes) return sizes.error();
  api::ExecutionOptions out = inputs.how;
  out.limits = limits_of(flags);
  out.warn = warn;
  for (const auto& [name, size] : *sizes) {
    out.dims.emplace(name, std::get<std::int64_t>(size));
  }
  return out;
}

}  // namespace ruleengine::cli
