// `ruleengine run`: bytes become a graph, a program compiled from rules finds
// matches in it, each match becomes an edit, and the graph becomes bytes again.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "bindings/cli/run_report.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/io/load.h"
#include "core/io/save.h"
#include "core/rewrite/portable.h"
#include "core/text/print.h"
#include "core/verify/verify.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

Diagnostic usage(std::string what, std::string found, std::string hint) {
  return {ErrorKind::kUsage, std::move(what), "", "", std::move(found),
          std::move(hint)};
}

// Options whose meaning comes with later parts of the engine say so.
Status check_options(const Options& options) {
  for (double limit : {options.limit_time, options.limit_callback,
                       options.limit_load}) {
    if (std::isnan(limit)) return usage("a limit is no number", "nan", "");
  }
  if (!options.verify.empty()) {
    return usage("--verify is not there yet", "", "it needs the executor");
  }
  if (options.opset != 0) {
    return usage("--opset is not there yet", std::to_string(options.opset),
                 "it comes with the target onnx");
  }
  if (options.target == "onnx" || options.target == "ort") {
    return usage("this target is not there yet", options.target,
                 "use --target portable, which any ONNX runtime runs");
  }
  if (options.target != "auto" && options.target != "portable") {
    Diagnostic d = usage("there is no such target", options.target, "");
    d.expected = "auto, portable, onnx or ort";
    return d;
  }
  return {};
}

std::string output_path(const std::string& model, const Options& options,
                        bool several) {
  const fs::path in(model);
  const std::string name = in.stem().string() + ".rewritten.onnx";
  if (options.output.empty()) return (in.parent_path() / name).string();
  if (several) return (fs::path(options.output) / name).string();
  return options.output;
}

// Nothing matched: the text as it was, not as it would be printed.
Status copy_text(const std::string& from, const std::string& to) {
  std::ifstream file(from, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return write_text(to, text.str());
}

Status write(const ir::Model& model, const std::string& input,
             const std::string& path, bool untouched,
             const Options& options) {
  if (!is_text_model(path)) {
    return io::save(model, path, {.share_data = options.share_data});
  }
  if (untouched && is_text_model(input)) return copy_text(input, path);
  return write_text(path, text::print(model, {.weights = true}));
}

// Gives the new ops their bodies and holds the whole to the invariants.
Status finish(ir::Model& model) {
  if (auto status = rewrite::write_portable(model); !status) return status;
  if (auto status = verify::check_model(model); !status) return status;
  return io::check_intact(model);
}

Result<RunReport> rewrite_model(const std::string& path,
                                const std::string& output,
                                const std::vector<std::string>& rule_paths,
                                const Options& options) {
  RunReport report;
  report.model = path;
  auto rules = load_rules(rule_paths, options);
  if (!rules) return rules.error();
  for (const auto& message : rules->set->warnings()) warn(message);

  const Stopwatch load;
  auto model = load_model(path);
  if (!model) return model.error();
  report.load_seconds = load.seconds();
  report.ops_before = count_ops(**model);

  Progress progress(fs::path(path).filename().string(), !options.quiet);
  rewrite::Options engine = engine_options(options);
  engine.progress = progress.callback();
  auto done = rewrite::run(**model, rules->pointers, engine);
  if (!done) return done.error();
  report.engine = std::move(*done);
  report.ops_after = count_ops(**model);

  if (auto status = finish(**model); !status) return status.error();
  if (options.dry_run) return report;
  const bool untouched = std::ranges::all_of(
      report.engine.rules, [](const auto& rule) { return rule.rewrites == 0; });
  const Stopwatch save;
  if (auto status = write(**model, path, output, untouched, options); !status) {
    return status.error();
  }
  report.save_seconds = save.seconds();
  report.output = output;
  return report;
}

// What one model came to; printed as soon as it is done.
struct Outcome {
  int code = 0;
  nlohmann::ordered_json json;
};

Outcome run_one(const std::string& path, const Paths& paths,
                const Options& options) {
  const std::string output =
      output_path(path, options, paths.models.size() > 1);
  auto report = rewrite_model(path, output, paths.rules, options);
  if (!report) return {fail(report.error()), nullptr};
  for (const auto& warning : report->engine.warnings) warn(warning.message);
  if (!options.quiet) say(summary(*report, options.verbose));
  return {0, options.report.empty() ? nullptr : to_json(*report)};
}

std::vector<Outcome> run_all(const Paths& paths, const Options& options) {
  std::vector<Outcome> outcomes(paths.models.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < paths.models.size();) {
      outcomes[i] = run_one(paths.models[i], paths, options);
    }
  };
  const auto jobs = std::min<std::size_t>(
      static_cast<std::size_t>(std::max(1, options.jobs)),
      paths.models.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  return outcomes;
}

Status prepare_output(const Paths& paths, const Options& options) {
  if (paths.models.size() < 2) {
    std::error_code none;
    if (!fs::equivalent(options.output, paths.models[0], none)) return {};
    return usage("the result would replace the model", options.output,
                 "give the result another name");
  }
  for (const std::string& model : paths.models) {
    for (const std::string& other : paths.models) {
      std::error_code none;
      const std::string output = output_path(model, options, true);
      if (!fs::equivalent(output, other, none)) continue;
      return usage("a result would replace a model that is still to be read",
                   output, "give a folder with -o");
    }
  }
  std::map<std::string, std::string> taken;
  for (const std::string& model : paths.models) {
    const std::string output = output_path(model, options, true);
    if (auto [it, is_new] = taken.emplace(output, model); !is_new) {
      return usage("two models would be written to one file",
                   it->second + " and " + model, "run them one by one with -o");
    }
  }
  if (options.output.empty() || options.dry_run) return {};
  std::error_code error;
  fs::create_directories(options.output, error);
  if (!error) return {};
  return Diagnostic{ErrorKind::kWrite, "the output folder cannot be made",
                    options.output, "", error.message(), ""};
}

// Results are models and reports are neither rules nor models, so that a slip
// of the command line cannot write over a rule of a folder or a pack.
Status check_names(const Paths& paths, const Options& options) {
  const std::string kind = fs::path(options.output).extension();
  std::error_code none;
  // A device is no slip; that it takes no file is said when it is opened.
  if (paths.models.size() == 1 && !options.output.empty() &&
      kind != ".onnx" && kind != ".onnxtxt" &&
      !fs::is_other(options.output, none)) {
    Diagnostic d = usage("the result is no model by its name", options.output,
                         "for instance -o result.onnx");
    d.expected = "*.onnx or *.onnxtxt";
    return d;
  }
  const std::string report = fs::path(options.report).extension();
  for (const char* taken : {".lua", ".onnx", ".onnxtxt", ".data"}) {
    if (report != taken) continue;
    return usage("the report would have the name of a rule or a model",
                 options.report, "for instance --report report.json");
  }
  return {};
}

// The report may go anywhere but over what is read or written. It is written
// last, so a folder that takes none is found before anything else is.
Status check_report_path(const Paths& paths, const Options& options) {
  if (options.report.empty()) return {};
  const fs::path folder = fs::path(options.report).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    return Diagnostic{ErrorKind::kWrite,     "the report cannot be written",
                      options.report,        "",
                      std::strerror(errno),  ""};
  }
  std::vector<std::string> taken = paths.models;
  taken.insert(taken.end(), paths.rules.begin(), paths.rules.end());
  for (const std::string& model : paths.models) {
    taken.push_back(output_path(model, options, paths.models.size() > 1));
  }
  for (const std::string& path : taken) {
    std::error_code none;
    if (path == options.report || fs::equivalent(path, options.report, none)) {
      return usage("the report would replace another file", path,
                   "give the report another name");
    }
  }
  return {};
}

Status write_report(const std::vector<Outcome>& outcomes,
                    const Options& options) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Outcome& outcome : outcomes) json.push_back(outcome.json);
  const auto& shown = outcomes.size() == 1 ? json[0] : json;
  return write_text(options.report, text_of(shown));
}

}  // namespace

int run(const Options& options) {
  if (auto status = check_options(options); !status) {
    return fail(status.error());
  }
  auto paths = sort_paths(options.paths, Wants::kBoth);
  if (!paths) return fail(paths.error());
  if (auto status = check_names(*paths, options); !status) {
    return fail(status.error());
  }
  if (auto status = check_report_path(*paths, options); !status) {
    return fail(status.error());
  }
  if (auto status = prepare_output(*paths, options); !status) {
    return fail(status.error());
  }
  const std::vector<Outcome> outcomes = run_all(*paths, options);
  for (const Outcome& outcome : outcomes) {
    if (outcome.code != 0) return outcome.code;
  }
  if (!options.report.empty()) {
    if (auto status = write_report(outcomes, options); !status) {
      return fail(status.error());
    }
  }
  return 0;
}

}  // namespace ruleengine::cli
