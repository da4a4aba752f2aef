#include "bindings/lua/rule_file.h"

#include <filesystem>
#include <utility>

#include "bindings/lua/load/rule_file_loader.h"
#include "core/base/folder.h"

namespace ruleengine::lua {

struct RuleSet::Impl {
  std::unique_ptr<Sandbox> sandbox;
  std::unique_ptr<Loader>
      loader;  // its C functions are registered in the sandbox
  std::vector<std::unique_ptr<LoadedRule>> rules;
  std::vector<std::unique_ptr<engine::OpBody>> owned_bodies;
  std::vector<const engine::OpBody*> bodies;
  std::vector<std::string> warnings;
  std::vector<engine::RuleSet::Unclaimed> unclaimed;
};

RuleSet::RuleSet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RuleSet::~RuleSet() = default;

Result<std::unique_ptr<RuleSet>> RuleSet::load(
    const std::vector<std::string>& paths,
    const std::vector<SetOption>& options, const SandboxLimits& limits,
    const RuleTexts* texts) {
  auto impl = std::make_unique<Impl>();
  Result<std::unique_ptr<Sandbox>> sandbox = Sandbox::create(limits);
  if (!sandbox) return sandbox.error();
  impl->sandbox = *std::move(sandbox);
  impl->loader = std::make_unique<Loader>(*impl->sandbox, texts);
  Loader& loader = *impl->loader;
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
    impl->rules.push_back(std::move(each.rule));
  }
  auto bodies = make_bodies(*impl->sandbox, impl->rules);
  if (!bodies) return bodies.error();
  impl->owned_bodies = *std::move(bodies);
  for (const auto& each : impl->owned_bodies) {
    impl->bodies.push_back(each.get());
  }
  impl->warnings = std::move(loader.warnings());
  impl->unclaimed = std::move(loader.unclaimed());
  loader.rules().clear();
  return std::unique_ptr<RuleSet>(new RuleSet(std::move(impl)));
}

Sandbox& RuleSet::sandbox() const { return *impl_->sandbox; }

const std::vector<std::unique_ptr<LoadedRule>>& RuleSet::rules() const {
  return impl_->rules;
}

const std::vector<std::string>& RuleSet::warnings() const {
  return impl_->warnings;
}

const std::vector<const engine::OpBody*>& RuleSet::bodies() const {
  return impl_->bodies;
}

const std::vector<engine::RuleSet::Unclaimed>& RuleSet::unclaimed() const {
  return impl_->unclaimed;
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
