#include "bindings/cli/session.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "bindings/cli/terminal.h"
#include "core/base/folder.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

// Parses RULE.OPTION=VALUE, split at the first dot and the first equals sign.
lua::SetOption parse_set(const std::string& text) {
  const auto dot = text.find('.');
  const auto equals = text.find('=', dot == std::string::npos ? 0 : dot);
  if (dot == std::string::npos || equals == std::string::npos) {
    throw misuse("--set is malformed", "RULE.OPTION=VALUE", text,
                 "for instance --set merge_linear.loose_scales=true");
  }
  return {text.substr(0, dot), text.substr(dot + 1, equals - dot - 1),
          text.substr(equals + 1)};
}

// Of the model "-", which is read when it is loaded.
void check_stdin(const Paths& paths) {
  const auto given = std::ranges::count(paths.models, "-");
  if (given > 1) throw misuse("stdin has one model", "", "- twice");
  if (given == 1 && ::isatty(STDIN_FILENO) != 0) {
    throw misuse("the model would be read from the terminal", "", "-",
                 "redirect stdin, or name a file");
  }
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_folder_of_models(const std::string& path) {
  std::error_code error;
  return std::ranges::any_of(names_in(path, error), is_model);
}

// A folder stands for its rules. A user may forget that for a folder of models.
api::Failure no_model(const std::vector<std::string>& rules,
                      const std::string& example) {
  auto folder = std::ranges::find_if(rules, is_folder_of_models);
  const bool has_models = folder != rules.end();
  if (!has_models) folder = std::ranges::find_if(rules, is_folder);
  if (folder == rules.end()) return misuse("no model given", "", "", example);
  return misuse(
      "no model given",
      "models (*.onnx, *.onnxtxt); a folder stands for its *.lua",
      *folder + ", a folder",
      has_models ? "name the models: " + (fs::path(*folder) / "*.onnx").string()
                 : example);
}

// All of the text; false if it is no such number.
template <typename T>
bool read_number(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

}  // namespace

Paths sort_paths(const Flags& flags, Wants wants) {
  Paths out;
  for (const std::string& path : flags.paths) {
    if (fs::path(path).extension() == ".lua" || is_folder(path)) {
      out.rules.push_back(path);
    } else if (is_model(path)) {
      out.models.push_back(path);
    } else {
      throw api::Failure(
          {.kind = ErrorKind::kUsage,
           .what = "this is neither a rule nor a model",
           .where = path,
           .expected =
               "a rule (*.lua, a folder) or a model (*.onnx, *.onnxtxt, or "
               "-)"});
    }
  }
  if ((wants == Wants::kRules || wants == Wants::kBoth) && out.rules.empty()) {
    throw misuse("no rules given", "", "", flags.example);
  }
  if (wants != Wants::kRules && out.models.empty()) {
    throw no_model(out.rules, flags.example);
  }
  if (wants == Wants::kModels && !out.rules.empty()) {
    throw misuse("this verb takes models only: " + out.rules[0], "",
                 flags.example);
  }
  if (wants == Wants::kRules && !out.models.empty()) {
    throw misuse("this verb takes rules only: " + out.models[0], "",
                 flags.example);
  }
  check_stdin(out);
  return out;
}

api::Limits limits_of(const Flags& flags) {
  constexpr double kHour = 3600;
  const auto models = std::ranges::count_if(flags.paths, is_model);
  const double seconds =
      flags.seconds > 0
          ? flags.seconds
          : kHour * static_cast<double>(std::max<std::ptrdiff_t>(models, 1));
  api::Limits out = flags.limits;
  out.deadline = Deadline(seconds, flags.started);
  return out;
}

std::unique_ptr<ir::Model> load_model(const std::string& path,
                                      const Flags& flags, Use use) {
  return take(api::load_model(path, {.limits = limits_of(flags),
                                     .needs_data = use == Use::kWhole,
                                     .warn = warn}));
}

std::unique_ptr<ir::Model> load_after_first(const std::string& path,
                                            const RuleFlags& flags, Use use) {
  auto model = load_model(path, flags, use);
  run_first(*model, flags);
  return model;
}

void run_first(ir::Model& model, const RuleFlags& flags) {
  check(api::run_rules(model, flags.first, rule_options(flags),
                       run_options(flags)));
}

engine::RunOptions run_options(const RuleFlags& flags) {
  engine::RunOptions out = flags.run;
  out.limits.deadline = limits_of(flags).deadline;
  return out;
}

api::RuleOptions rule_options(const RuleFlags& flags) {
  api::RuleOptions out{.limits = limits_of(flags)};
  for (const std::string& text : flags.sets) {
    out.sets.push_back(parse_set(text));
  }
  return out;
}

api::LoadedRules load_rules(const std::vector<std::string>& paths,
                            const RuleFlags& flags,
                            const std::vector<std::string>& shipped) {
  return take(api::load_rules(paths, rule_options(flags), shipped));
}

std::string why_absent(const engine::Absent& rule) {
  std::string why = "takes no part, since its `when` returned false";
  if (rule.switches.empty()) return why;
  return why + " (options of its own or its pack's: " + rule.switches + ")";
}

engine::FixedSizes parse_dims(const InputFlags& flags, bool may_tie) {
  engine::FixedSizes out;
  for (const std::string& text : flags.dims) {
    const std::size_t at = text.rfind('=');
    const std::string name = text.substr(0, at);
    const std::string given = at == text.npos ? "" : text.substr(at + 1);
    std::int64_t size = -1;
    const bool is_size = read_number(given, size) && size >= 0;
    const bool is_name = may_tie && !given.empty() &&
                         given.find_first_of("-+") != 0 &&
                         given.find_first_not_of("0123456789") != given.npos;
    if (out.contains(name)) {
      throw misuse("a dimension has two sizes", "", printable(text),
                   "give each name once");
    }
    if (name.empty() || !(is_size || is_name)) {
      throw misuse("a size of --dims cannot be read",
                   may_tie ? "NAME=SIZE or NAME=NAME, such as "
                             "batch=2,mask_length=seq"
                           : "NAME=SIZE, such as batch=2,seq=7",
                   printable(text));
    }
    if (is_size) {
      out[name] = size;
    } else {
      out[name] = given;
    }
  }
  return out;
}

std::optional<runtime::Tolerance> parse_tolerance(
    const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  runtime::Tolerance out;
  const std::string_view all = *text;
  const std::size_t comma = std::min(all.find(','), all.size());
  const auto reads = [](std::string_view part, double& number) {
    return read_number(part, number) && std::isfinite(number) && number >= 0;
  };
  if (comma < all.size() && reads(all.substr(0, comma), out.abs) &&
      reads(all.substr(comma + 1), out.rel)) {
    return out;
  }
  throw misuse("--tolerance cannot be read",
               "ABS,REL: two finite numbers from 0 on", printable(all),
               "for instance --tolerance 1e-5,1e-3");
}

api::ExecutionOptions execution_options(const Flags& flags,
                                        const InputFlags& inputs) {
  api::ExecutionOptions out = inputs.how;
  for (const auto& [name, size] : parse_dims(inputs, false)) {
    out.dims.emplace(name, std::get<std::int64_t>(size));
  }
  out.tolerance = parse_tolerance(inputs.tolerance);
  out.limits = limits_of(flags);
  out.warn = warn;
  return out;
}

}  // namespace ruleengine::cli
