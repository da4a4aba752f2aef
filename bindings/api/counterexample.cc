#include "bindings/api/counterexample.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "bindings/api/files.h"
#include "core/base/folder.h"
#include "core/io/save.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle =
    "A counterexample of ruleengine: a rewrite changes what a model computes.";
constexpr const char* kReadme = "README.txt";
constexpr const char* kPart = "part_";

std::string entry(std::string_view name) {
  return fmt::format("\n  {}: ", printable(name));
}

// Whether an earlier run wrote it, and nobody has put anything into it since.
bool is_counterexample(const fs::path& folder) {
  std::error_code error;
  const bool is_folder =
      fs::symlink_status(folder, error).type() == fs::file_type::directory;
  if (!is_folder) return false;
  const auto text = read_text_file((folder / kReadme).string());
  if (!text || !text->starts_with(kTitle)) return false;
  const auto names = names_in(folder, error);
  return !error && std::ranges::all_of(names, [&](const std::string& name) {
    return name == kReadme || text->find(entry(name)) != std::string::npos;
  });
}

std::string_view meaning_of(std::string_view name) {
  if (name == "inputs.npz") return "the inputs that show it";
  if (name == "before.onnx") return "the model before the rewrite";
  if (name == "after.onnx") return "the model after it";
  if (name == "part_inputs.npz") return "the inputs of its part";
  if (name == "part_before.onnx") return "the part that the rewrite changes";
  if (name == "part_after.onnx") return "the part after it";
  return "data of these models";
}

std::string commands(std::string_view prefix) {
  return fmt::format(
      "\n  ruleengine exec {0}before.onnx --inputs {0}inputs.npz\n"
      "  ruleengine exec {0}after.onnx --inputs {0}inputs.npz\n",
      prefix);
}

}  // namespace

Status Counterexample::start() {
  if (scratch_) return {};
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder_, error)) &&
      !is_counterexample(folder_)) {
    return Diagnostic{.kind = ErrorKind::kWrite,
                      .what = "it would replace what no run wrote",
                      .where = folder_};
  }
  auto scratch = Scratch::create_beside(folder_);
  if (!scratch) return scratch.error();
  scratch_ = *std::move(scratch);
  return {};
}

Status Counterexample::add(const std::string& prefix, const Pair& pair) {
  if (auto status = start(); !status) return status;
  const auto path = [&](const char* name) {
    return (fs::path(scratch_->folder()) / (prefix + name)).string();
  };
  const auto inputs = runtime::npz_of(pair.inputs);
  if (!inputs) return inputs.error();
  auto status = write_file(path("inputs.npz"), *inputs);
  if (status) status = io::save(pair.before, path("before.onnx"));
  if (status) status = io::save(pair.after, path("after.onnx"));
  return status;
}

Status Counterexample::add_part(const Pair& pair) {
  has_part_ = true;
  return add(kPart, pair);
}

std::string Counterexample::readme(const Text& text) const {
  std::string out = fmt::format("{}\n\nmodel:   {}\n", kTitle,
                                printable(text.model, std::string::npos));
  if (!text.rewrite.empty()) out += "rewrite: " + text.rewrite + "\n";
  out += "differs: " + text.differs + "\n\nFiles:\n";
  std::error_code none;
  for (const std::string& name : names_in(scratch_->folder(), none)) {
    out += std::string_view(entry(name)).substr(1);
    out.append(meaning_of(name)).append("\n");
  }
  out += "\nTo see it, in this folder:\n" + commands("");
  if (has_part_) out += "\nIn few nodes:\n" + commands(kPart);
  return out;
}

Status Counterexample::finish(const Text& text) {
  if (auto status = start(); !status) return status;
  const auto path = fs::path(scratch_->folder()) / kReadme;
  auto status = write_file(path.string(), readme(text));
  return status ? scratch_->become(folder_) : status;
}

}  // namespace ruleengine::api
