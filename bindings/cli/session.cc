#include "bindings/cli/session.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bindings/cli/terminal.h"
#include "core/engine/engine.h"
#include "core/io/load.h"
#include "core/text/parse.h"
#include "core/text/print.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

Diagnostic unreadable(const std::string& path, std::string why) {
  return {ErrorKind::kModel,
          "the model cannot be read",
          path,
          "",
          std::move(why),
          ""};
}

std::string one_line(const Diagnostic& d) {
  std::string text = d.where + ": " + d.what;
  if (!d.found.empty()) text += ", found " + d.found;
  if (!d.expected.empty()) text += ", expected " + d.expected;
  if (!d.hint.empty()) text += "; " + d.hint;
  return text;
}

// Text models are written by hand. An unknown op in one may be a typing error,
// which gets a warning and no error, since another runtime may know the op.
Result<std::unique_ptr<ir::Model>> load_text(
    const std::string& path, const Deadline& deadline,
    std::vector<Diagnostic>& warnings) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return unreadable(path, error ? error.message() : "not a regular file");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return unreadable(path, "reading failed");
  return text::parse_model(text.str(), path,
                           {.warnings = &warnings, .deadline = deadline});
}

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

bool is_model(const fs::path& path) {
  return path.extension() == ".onnx" || path.extension() == ".onnxtxt";
}

bool is_folder_of_models(const std::string& path) {
  std::error_code error;
  fs::directory_iterator each(path, error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    if (is_model(each->path())) return true;
  }
  return false;
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

Diagnostic usage(std::string what, std::string found, std::string hint) {
  return {ErrorKind::kUsage, std::move(what), "", "",
          std::move(found),  std::move(hint)};
}

Result<std::string> read_text_file(const std::string& path) {
  std::error_code error;
  std::ostringstream text;
  // Opening a pipe would wait for who writes to it.
  const bool is_regular = std::filesystem::is_regular_file(path, error);
  if (is_regular) {
    const std::ifstream file(path, std::ios::binary);
    if (file && text << file.rdbuf()) return text.str();
  }
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "the file cannot be read",
                    .where = path,
                    .found = error        ? error.message()
                             : is_regular ? std::strerror(errno)
                                          : "no regular file"};
}

bool is_text_model(const std::string& path) {
  return fs::path(path).extension() == ".onnxtxt";
}

Result<Paths> sort_paths(const Options& options, Wants wants) {
  Paths out;
  for (const std::string& path : options.paths) {
    std::error_code error;
    if (fs::path(path).extension() == ".lua" || fs::is_directory(path, error)) {
      out.rules.push_back(path);
    } else if (is_model(path)) {
      out.models.push_back(path);
    } else {
      Diagnostic d = usage("this is neither a rule nor a model");
      d.where = path;
      d.expected = "a rule (*.lua, a folder) or a model (*.onnx, *.onnxtxt)";
      return d;
    }
  }
  if ((wants == Wants::kRules || wants == Wants::kBoth) && out.rules.empty()) {
    return usage("no rules given", "", options.example);
  }
  if (wants != Wants::kRules && out.models.empty()) {
    return no_model(out.rules, options.example);
  }
  if (wants == Wants::kModels && !out.rules.empty()) {
    return usage("this verb takes models only: " + out.rules[0],
                 options.example);
  }
  if (wants == Wants::kRules && !out.models.empty()) {
    return usage("this verb takes rules only: " + out.models[0],
                 options.example);
  }
  return out;
}

Deadline deadline_of(const Options& options) {
  constexpr double kHour = 3600;
  const auto models = std::ranges::count_if(
      options.paths, [](const std::string& path) { return is_model(path); });
  const double seconds =
      options.limit_time > 0
          ? options.limit_time
          : kHour * static_cast<double>(std::max<std::ptrdiff_t>(models, 1));
  return Deadline(seconds, options.started);
}

Result<std::unique_ptr<ir::Model>> load_model(
    const std::string& path, const Options& options,
    std::vector<rewrite::Warning>* report, Use use) {
  const Deadline deadline = deadline_of(options);
  std::vector<Diagnostic> warnings;
  auto model = is_text_model(path)
                   ? load_text(path, deadline, warnings)
                   : io::load(path, {.deadline = deadline,
                                     .warnings = &warnings,
                                     .needs_data = use == Use::kWhole});
  for (const Diagnostic& each : warnings) {
    std::string text = one_line(each);
    if (report == nullptr || !model) {
      warn(text);
    } else {
      report->push_back({"", "", std::move(text)});
    }
  }
  if (!model) return model;
  if (auto status = engine::fix_sizes(**model, options.fixed); !status) {
    return status.error();
  }
  (*model)->limit_growth(options.limit_memory << 20);
  return model;
}

Status check_end(const ir::Model& model, const Options& options) {
  if (auto status = io::check_intact(model); !status) return status;
  return deadline_of(options).check();
}

lua::SandboxLimits sandbox_limits(const Options& options) {
  lua::SandboxLimits limits;
  limits.load_seconds = options.limit_load;
  limits.callback_seconds = options.limit_callback;
  limits.total_bytes = std::size_t{options.limit_memory} << 20;
  limits.load_bytes = std::min(limits.load_bytes, limits.total_bytes);
  limits.deadline = deadline_of(options);
  return limits;
}

engine::RunOptions engine_options(const Options& options) {
  engine::RunOptions out;
  out.target = options.target;
  out.opset = options.opset;
  out.exact = options.exact;
  out.keep_ir_version = options.keep_ir_version;
  out.limits.rewrites = options.limit_rewrites;
  out.limits.deadline = deadline_of(options);
  return out;
}

Result<std::vector<lua::SetOption>> parse_sets(const Options& options) {
  std::vector<lua::SetOption> sets;
  for (const std::string& text : options.sets) {
    auto set = parse_set(text);
    if (!set) return set.error();
    sets.push_back(std::move(*set));
  }
  return sets;
}

Result<lua::RuleFiles> rule_files(const Options& options) {
  auto sets = parse_sets(options);
  if (!sets) return sets.error();
  return lua::RuleFiles(std::move(*sets), sandbox_limits(options));
}

Diagnostic of_set(Diagnostic error) {
  if (error.kind == ErrorKind::kUsage && error.expected == "a boolean") {
    error.expected = "true or false";
  }
  return error;
}

Result<LoadedRules> load_rules(const std::vector<std::string>& paths,
                               const Options& options,
                               const std::vector<std::string>& shipped) {
  const auto files = rule_files(options);
  if (!files) return files.error();
  auto rules =
      paths.empty() ? files->load_shipped(shipped) : files->load(paths);
  if (!rules) return of_set(rules.error());
  if (!(*rules)->unclaimed().empty()) return (*rules)->unclaimed()[0].error;
  return rules;
}

std::string why_absent(const engine::Absent& rule) {
  std::string why = "takes no part, since its `when` returned false";
  if (rule.switches.empty()) return why;
  return why + " (options of its own or its pack's: " + rule.switches + ")";
}

Status run_first(ir::Model& model, const Options& options) {
  if (options.first.empty()) return {};
  const auto rules = load_rules(options.first, options);
  if (!rules) return rules.error();
  const auto report =
      engine::run_rules(model, **rules, engine_options(options));
  return report ? Status() : Status(report.error());
}

Result<io::Staged> stage_text(const std::string& path, std::string_view text) {
  const io::FileSizeSignalBlock no_signal;
  auto file = io::OutputFile::create(path);
  if (!file) return file.error();
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  if (auto status = (*file)->write(bytes); !status) return status.error();
  if (auto status = (*file)->finish(false); !status) return status.error();
  return io::Staged(std::move(*file));
}

Result<io::Staged> stage_model_text(const std::string& path,
                                    const ir::Model& model) {
  auto text = text::print_whole(model);
  if (text) return stage_text(path, *text);
  Diagnostic error = text.error();
  error.where = path;
  return error;
}

}  // namespace ruleengine::cli
