#include "bindings/api/counterexample.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "bindings/api/files.h"
#include "bindings/api/scratch.h"
#include "core/io/save.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle =
    "A counterexample of ruleengine: a rewrite changes what a model computes.";
constexpr const char* kReadme = "README.txt";

// The names of its files, sorted.
std::vector<std::string> names_in(const fs::path& folder,
                                  std::error_code& error) {
  std::vector<std::string> out;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    out.push_back(at->path().filename().string());
  }
  std::ranges::sort(out);
  return out;
}

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
  return "data of these models";
}

std::string readme(const Counterexample& example,
                   const std::vector<std::string>& names) {
  std::string out = fmt::format("{}\n\nmodel:   {}\n", kTitle,
                                printable(example.model, std::string::npos));
  if (!example.rewrite.empty()) out += "rewrite: " + example.rewrite + "\n";
  out += "differs: " + example.differs + "\n\nFiles:\n";
  for (const std::string& name : names) {
    out += std::string_view(entry(name)).substr(1);
    out.append(meaning_of(name)).append("\n");
  }
  return out +
         "\nTo see it, in this folder:\n\n"
         "  ruleengine exec before.onnx --inputs inputs.npz\n"
         "  ruleengine exec after.onnx --inputs inputs.npz\n";
}

}  // namespace

Status save_counterexample(const Counterexample& example,
                           const std::string& folder) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder, error)) &&
      !is_counterexample(folder)) {
    return Diagnostic{.kind = ErrorKind::kWrite,
                      .what = "it would replace what no run wrote",
                      .where = folder};
  }
  auto scratch = Scratch::create_beside(folder);
  if (!scratch) return scratch.error();
  const fs::path inside = (*scratch)->folder();
  const auto inputs = runtime::npz_of(example.inputs);
  if (!inputs) return inputs.error();
  auto status = write_file((inside / "inputs.npz").string(), *inputs);
  for (const auto& [name, model] : {std::pair("before.onnx", &example.before),
                                    std::pair("after.onnx", &example.after)}) {
    if (status) status = io::save(*model, (inside / name).string());
  }
  if (!status) return status;
  const auto names = names_in(inside, error);
  status = write_file((inside / kReadme).string(), readme(example, names));
  return status ? (*scratch)->become(folder) : status;
}

}  // namespace ruleengine::api
