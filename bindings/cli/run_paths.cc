#include "bindings/cli/run_paths.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "bindings/api/files.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

// With several models, no result may replace external data of any model. The
// models are loaded for that only if a file with the name of a result exists.
Status check_data(const Paths& paths, const RunFiles& files,
                  const Flags& flags) {
  if (paths.models.size() < 2) return {};
  const ResultPaths results(paths.models, files.output);
  std::vector<std::string> replaced;
  for (const std::string& model : paths.models) {
    const std::string output = results.of(model);
    for (const std::string& path : {output, output + ".data"}) {
      if (api::existing(path)) replaced.push_back(path);
    }
  }
  if (replaced.empty()) return {};
  for (const std::string& path : paths.models) {
    const auto model = load_model(path, flags);
    if (!model) continue;  // the run reports the error
    for (const std::string& result : replaced) {
      if (!api::holds_data(**model, result)) continue;
      Diagnostic d = usage("a result would replace the data of a model", result,
                           "give a folder with -o");
      d.where = path;
      return d;
    }
  }
  return {};
}

Status prepare_output(const Paths& paths, const RunFiles& files) {
  const ResultPaths results(paths.models, files.output);
  if (!results.are_in_folder()) {
    std::error_code none;
    if (!fs::equivalent(files.output, paths.models[0], none)) return {};
    return usage("the result would replace the model", files.output,
                 "give the result another name");
  }
  std::vector<api::FileId> models;
  for (const std::string& model : paths.models) {
    if (const auto there = api::existing(model)) models.push_back(there->id);
  }
  std::ranges::sort(models);
  for (const std::string& model : paths.models) {
    const std::string output = results.of(model);
    const auto there = api::existing(output);
    if (!there || !std::ranges::binary_search(models, there->id)) continue;
    return usage("a result would replace a model that is still to be read",
                 output, "give a folder with -o");
  }
  std::map<std::string, std::string> taken;
  for (const std::string& model : paths.models) {
    const std::string output = results.of(model);
    if (auto [it, is_new] = taken.emplace(output, model); !is_new) {
      return usage("two models would be written to one file",
                   it->second + " and " + model, "run them one by one with -o");
    }
  }
  if (files.output.empty() || files.dry_run) return {};
  for (const std::string& model : paths.models) {
    const fs::path folder = fs::path(results.of(model)).parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return Diagnostic{.kind = ErrorKind::kWrite,
                        .what = "the output folder cannot be made",
                        .where = folder.string(),
                        .found = error.message()};
    }
  }
  return {};
}

// Results must have the name of a model, and what is written beside them
// neither that of a rule nor of a model, so that a mistake on the command line
// cannot overwrite a rule.
Status check_names(const Paths& paths, const RunFiles& files) {
  const std::string kind = fs::path(files.output).extension();
  std::error_code none;
  // A device is allowed here; opening it fails with its own message.
  if (!ResultPaths(paths.models, files.output).are_in_folder() &&
      !files.output.empty() && kind != ".onnx" && kind != ".onnxtxt" &&
      !fs::is_other(files.output, none)) {
    Diagnostic d = usage("the name of the result is not that of a model",
                         files.output, "for instance -o result.onnx");
    d.expected = "*.onnx, *.onnxtxt or a folder with a slash at its end";
    return d;
  }
  if (paths.models.size() > 1 && (kind == ".onnx" || kind == ".onnxtxt") &&
      !fs::is_directory(files.output, none)) {
    Diagnostic d = usage("several results cannot be written to one file",
                         files.output, "for instance -o results/");
    d.expected = "a folder, since there are several models";
    return d;
  }
  for (const SideFile& file : files.beside) {
    const std::string its = fs::path(file.path).extension();
    for (const char* taken : {".lua", ".onnx", ".onnxtxt", ".data", ".npz"}) {
      if (its != taken) continue;
      return usage(
          file.what + " would have the name of a rule, a model or data",
          file.path, "for instance " + file.option + " FILE.json");
    }
  }
  return {};
}

// What is written beside the results must not replace an input or an output. It
// is written last, so whether its folder is writable is checked first.
Status check_side_files(const Paths& paths, const RunFiles& files) {
  std::vector<std::string> taken = paths.models;
  taken.insert(taken.end(), paths.rules.begin(), paths.rules.end());
  const ResultPaths of_models(paths.models, files.output);
  for (const std::string& model : paths.models) {
    taken.push_back(of_models.of(model));
  }
  taken.insert(taken.end(), files.read.begin(), files.read.end());
  for (const SideFile& file : files.beside) {
    if (auto made = api::OutputFile::create(file.path); !made) {
      Diagnostic d = made.error();
      if (d.found.empty()) d.found = d.what;
      d.what = file.what + " cannot be written";
      return d;
    }
    for (const std::string& path : taken) {
      std::error_code none;
      if (path == file.path || fs::equivalent(path, file.path, none)) {
        return usage(file.what + " would replace another file", path,
                     "give it another name");
      }
    }
    taken.push_back(file.path);
  }
  return {};
}

}  // namespace

ResultPaths::ResultPaths(const std::vector<std::string>& models,
                         std::string output)
    : output_(std::move(output)) {
  std::error_code none;
  in_folder_ = models.size() > 1 ||
               (!output_.empty() && (output_.filename().empty() ||
                                     fs::is_directory(output_, none)));
  std::set<fs::path> names;
  if (std::ranges::all_of(models, [&](const std::string& model) {
        return names.insert(fs::path(model).filename()).second;
      })) {
    return;
  }
  for (const std::string& model : models) {
    const fs::path folder =
        fs::absolute(model).lexically_normal().parent_path();
    if (!common_) common_ = folder;
    const auto end = std::ranges::mismatch(*common_, folder).in1;
    fs::path shared;
    for (auto part = common_->begin(); part != end; ++part) shared /= *part;
    common_ = shared;
  }
}

std::string ResultPaths::of(const std::string& model) const {
  const fs::path in(model);
  const std::string name = in.stem().string() + ".rewritten.onnx";
  if (output_.empty()) return (in.parent_path() / name).string();
  if (!in_folder_) return output_.string();
  if (!common_) return (output_ / name).string();
  const fs::path folder = fs::absolute(in).lexically_normal().parent_path();
  return (output_ / folder.lexically_relative(*common_) / name)
      .lexically_normal()
      .string();
}

Status check_files(const Paths& paths, const RunFiles& files,
                   const Flags& flags) {
  for (const auto check : {check_names, check_side_files}) {
    if (auto status = check(paths, files); !status) return status;
  }
  if (auto status = check_data(paths, files, flags); !status) return status;
  if (auto status = prepare_output(paths, files); !status) return status;
  if (files.dry_run) return {};
  const ResultPaths results(paths.models, files.output);
  std::vector<std::string> written;
  for (const std::string& model : paths.models) {
    written.push_back(results.of(model));
  }
  for (const SideFile& file : files.beside) written.push_back(file.path);
  api::remove_leftovers(written);
  return {};
}

}  // namespace ruleengine::cli
