#include "bindings/api/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/folder.h"
#include "core/engine/engine.h"

namespace ruleengine::api {

namespace fs = std::filesystem;

Status add_shipped(std::vector<std::string>& paths,
                   const lua::RuleTexts* texts) {
  if (!paths.empty()) return {};
  auto folder = lua::rules_folder(texts);
  if (!folder) return folder.error();
  paths.push_back(*std::move(folder));
  return {};
}

Result<std::string> shipped_pack(const std::string& name,
                                 const lua::RuleTexts* texts) {
  const auto folder = lua::rules_folder(texts);
  if (!folder) return folder.error();
  std::error_code error;
  std::vector<std::string> names;
  for (const fs::path file : lua::rule_files_in(*folder, error)) {
    names.push_back(file.stem().string());
    if (names.back() == name) return (fs::path(*folder) / file).string();
  }
  if (error) {
    return Diagnostic{.kind = ErrorKind::kRule,
                      .what = "the rules that ship cannot be read",
                      .where = *folder,
                      .found = error.message()};
  }
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "no pack of this name ships",
                    .expected = fmt::format("{}", fmt::join(names, ", ")),
                    .found = printable(name)};
}

Status GivenTexts::add(const std::string& name, std::string text) {
  const fs::path path = name;
  if (path.empty() || path.is_absolute() ||
      path.native() != path.lexically_normal().native() ||
      *path.begin() == "..") {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the name of a file can never be asked for",
                      .expected =
                          "a path without '.', '..', '//' and a first "
                          "'/'",
                      .found = printable(name)};
  }
  if (files_.emplace(name, std::move(text)).second) return {};
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "two files have one name",
                    .found = printable(name)};
}

Result<std::optional<std::string>> GivenTexts::read(
    const std::string& path) const {
  const auto it = files_.find(path);
  if (it != files_.end()) return std::optional(it->second);
  return read_ ? read_(path) : std::optional<std::string>();
}

lua::SandboxLimits sandbox_limits(const Limits& limits) {
  lua::SandboxLimits out;
  out.load_seconds = limits.load_seconds;
  out.callback_seconds = limits.callback_seconds;
  out.total_bytes = limits.memory;
  out.load_bytes = std::min(out.load_bytes, out.total_bytes);
  out.deadline = limits.deadline;
  return out;
}

Result<LoadedRules> load_rules(const std::vector<std::string>& paths,
                               const RuleOptions& options,
                               const std::vector<std::string>& shipped) {
  const lua::RuleFiles files(options.sets, sandbox_limits(options.limits),
                             options.texts);
  auto rules = paths.empty() ? files.load_shipped(shipped) : files.load(paths);
  if (!rules) return rules.error();
  if (!(*rules)->unclaimed().empty()) return (*rules)->unclaimed()[0].error;
  return rules;
}

Status run_rules(ir::Model& model, const std::vector<std::string>& paths,
                 const RuleOptions& options, const engine::RunOptions& how) {
  if (paths.empty()) return {};
  const auto rules = load_rules(paths, options);
  if (!rules) return rules.error();
  const auto report = engine::run_rules(model, **rules, how);
  return report ? Status() : Status(report.error());
}

}  // namespace ruleengine::api
