#include "bindings/lua/rule_file.h"

#include <filesystem>
#include <utility>

#include "bindings/lua/load/rule_file_loader.h"
#include "core/base/folder.h"

namespace ruleengine::lua {

RuleSet::RuleSet() = default;
RuleSet::~RuleSet() = default;

Result<std::unique_ptr<RuleSet>> RuleSet::load(
    const std::vector<std::string>& paths,
    const std::vector<SetOption>& options, const SandboxLimits& limits,
    const RuleTexts* texts) {
  Result<std::unique_ptr<Sandbox>> sandbox = Sandbox::create(limits);
  if (!sandbox) return sandbox.error();
  std::unique_ptr<RuleSet> set(new RuleSet());
  set->sandbox_ = *std::move(sandbox);
  set->loader_ = std::make_unique<Loader>(*set->sandbox_, texts);
  Loader& loader = *set->loader_;
  if (Status status = loader.prepare(); !status) return status.error();
  for (const std::string& path : paths) {
    if (Status status = loader.add(path); !status) return status.error();
  }
  if (Status status = loader.add_members(); !status) return status.error();
  if (Status status = apply_options(loader, options); !status) {
    return status.error();
  }
  if (Status status = order_rules(loader); !status) return status.error();
  warn_of_after(loader);
  warn_of_shadowed(loader);
  for (RuleInLoad& each : loader.rules()) {
    set->rules_.push_back(std::move(each.rule));
  }
  auto bodies = make_bodies(*set->sandbox_, set->rules_);
  if (!bodies) return bodies.error();
  set->owned_bodies_ = *std::move(bodies);
  for (const auto& each : set->owned_bodies_) {
    set->bodies_.push_back(each.get());
  }
  set->warnings_ = std::move(loader.warnings());
  set->unclaimed_ = std::move(loader.unclaimed());
  loader.rules().clear();
  return set;
}

std::vector<std::string> rule_files_in(const std::string& folder,
                                       std::error_code& error) {
  namespace fs = std::filesystem;
  std::vector<std::string> names = names_in(folder, error);
  std::erase_if(names, [&](const fs::path name) {
    std::error_code ignored;
    return name.extension() != ".lua" ||
           fs::is_directory(folder / name, ignored);
  });
  return names;
}

}  // namespace ruleengine::lua
