#include "bindings/api/run_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "bindings/api/files.h"
#include "bindings/api/models.h"
#include "core/io/output.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;
using Results = std::vector<std::string>;

Diagnostic misuse(std::string what, std::string found, std::string hint = {}) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .found = std::move(found),
          .hint = std::move(hint)};
}

Diagnostic needs_folder(std::string what, std::string found) {
  Diagnostic out = misuse(std::move(what), std::move(found));
  out.remedy = Remedy::kFolder;
  return out;
}

bool goes_to_folder(const RunFiles& files) {
  const fs::path output = files.output;
  std::error_code none;
  return files.models.size() > 1 ||
         (!output.empty() &&
          (output.filename().empty() || fs::is_directory(output, none)));
}

fs::path folder_of(const std::string& model) {
  return fs::absolute(model).lexically_normal().parent_path();
}

// The folder that all models have in common; none if their names differ.
std::optional<fs::path> common_folder(const std::vector<std::string>& models) {
  std::set<fs::path> names;
  if (std::ranges::all_of(models, [&](const std::string& model) {
        return names.insert(fs::path(model).filename()).second;
      })) {
    return std::nullopt;
  }
  fs::path common = folder_of(models[0]);
  for (const std::string& model : models) {
    const fs::path folder = folder_of(model);
    const auto end = std::ranges::mismatch(common, folder).in1;
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

Results results_of(const RunFiles& files) {
  const fs::path output = files.output;
  const bool in_folder = goes_to_folder(files);
  const auto common = common_folder(files.models);
  Results out;
  for (const std::string& model : files.models) {
    const fs::path in(model);
    const std::string name = in.stem().string() + ".rewritten.onnx";
    if (output.empty()) {
      out.push_back((in.parent_path() / name).string());
    } else if (!in_folder) {
      out.push_back(output.string());
    } else if (!common) {
      out.push_back((output / name).string());
    } else {
      const fs::path below = folder_of(model).lexically_relative(*common);
      out.push_back((output / below / name).lexically_normal().string());
    }
  }
  return out;
}

// Results must have the name of a model, and what is written beside them
// neither that of a rule nor of a model.
Status check_names(const RunFiles& files) {
  const std::string kind = fs::path(files.output).extension();
  const bool is_model = kind == ".onnx" || kind == ".onnxtxt";
  std::error_code none;
  // A device is allowed here; opening it fails with its own message.
  if (!goes_to_folder(files) && !files.output.empty() && !is_model &&
      !fs::is_other(files.output, none)) {
    Diagnostic d = misuse("the name of the result is not that of a model",
                          files.output, "for instance result.onnx");
    d.expected = "*.onnx, *.onnxtxt or a folder with a slash at its end";
    return d;
  }
  if (files.models.size() > 1 && is_model &&
      !fs::is_directory(files.output, none)) {
    Diagnostic d = misuse("several results cannot be written to one file",
                          files.output, "for instance results/");
    d.expected = "a folder, since there are several models";
    return d;
  }
  for (const SideFile& file : files.beside) {
    if (auto status = check_name(file); !status) return status;
  }
  return {};
}

// What is written beside the results must not replace an input or an output. It
// is written last, so whether its folder is writable is checked first.
Status check_side_files(const RunFiles& files, const Results& results) {
  std::vector<std::string> taken = results;
  for (const auto* read : {&files.models, &files.rules, &files.read}) {
    taken.insert(taken.end(), read->begin(), read->end());
  }
  for (const SideFile& file : files.beside) {
    if (auto made = io::OutputFile::create(file.path); !made) {
      Diagnostic d = made.error();
      if (d.found.empty()) d.found = d.what;
      d.what = file.what + " cannot be written";
      return d;
    }
    for (const std::string& path : taken) {
      std::error_code none;
      if (path == file.path || fs::equivalent(path, file.path, none)) {
        return misuse(file.what + " would replace another file", path,
                      "give it another name");
      }
    }
    taken.push_back(file.path);
  }
  return {};
}

// With several models, no result may replace external data of any model. The
// models are loaded for that only if a file with the name of a result exists.
Status check_data(const RunFiles& files, const Results& results,
                  const Limits& limits) {
  if (files.models.size() < 2) return {};
  std::vector<std::string> replaced;
  for (const std::string& output : results) {
    for (const std::string& path : {output, output + ".data"}) {
      if (io::existing(path)) replaced.push_back(path);
    }
  }
  if (replaced.empty()) return {};
  for (const std::string& path : files.models) {
    const auto model = load_model(path, {.limits = limits});
    if (!model) continue;  // the run reports the error
    for (const std::string& result : replaced) {
      if (!io::holds_data(**model, result)) continue;
      Diagnostic d =
          needs_folder("a result would replace the data of a model", result);
      d.where = path;
      return d;
    }
  }
  return {};
}

Status check_models(const RunFiles& files, const Results& results) {
  if (!goes_to_folder(files)) {
    std::error_code none;
    if (!fs::equivalent(files.output, files.models[0], none)) return {};
    return misuse("the result would replace the model", files.output,
                  "give the result another name");
  }
  std::vector<io::FileId> models;
  for (const std::string& model : files.models) {
    if (const auto there = io::existing(model)) models.push_back(there->id);
  }
  std::ranges::sort(models);
  std::map<std::string, std::string> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string &output = results[i], &model = files.models[i];
    const auto there = io::existing(output);
    if (there && std::ranges::binary_search(models, there->id)) {
      return needs_folder(
          "a result would replace a model that is still to be read", output);
    }
    if (auto [it, is_new] = taken.emplace(output, model); !is_new) {
      return misuse("two models would be written to one file",
                    it->second + " and " + model,
                    "run them one by one, with a result each");
    }
  }
  return {};
}

Status make_folders(const RunFiles& files, const Results& results) {
  if (files.output.empty() || !goes_to_folder(files)) return {};
  for (const std::string& result : results) {
    const fs::path folder = fs::path(result).parent_path();
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

}  // namespace

Status check_name(const SideFile& file) {
  const std::string its = fs::path(file.path).extension();
  for (const char* taken : {".lua", ".onnx", ".onnxtxt", ".data", ".npz"}) {
    if (its != taken) continue;
    return misuse(
        file.what + " would have the name of a rule, a model or data",
        file.path,
        "for instance " + fs::path(file.path).stem().string() + file.ending);
  }
  return {};
}

Result<std::vector<std::string>> prepare_files(const RunFiles& files,
                                               const Limits& limits) {
  Results results = results_of(files);
  auto status = check_names(files);
  if (status) status = check_side_files(files, results);
  if (status) status = check_data(files, results, limits);
  if (status) status = check_models(files, results);
  if (status && !files.dry_run) status = make_folders(files, results);
  if (!status) return status.error();
  if (!files.dry_run) {
    Results written = results;
    for (const SideFile& file : files.beside) written.push_back(file.path);
    io::remove_leftovers(written);
  }
  return results;
}

}  // namespace ruleengine::api
