#include "bindings/lua/rule_source.h"

#include <utility>
#include <variant>

#include "bindings/lua/callbacks/rule.h"
#include "bindings/lua/load/shipped.h"

namespace ruleengine::lua {
namespace {

class LoadedSet final : public engine::RuleSet {
 public:
  explicit LoadedSet(std::unique_ptr<lua::RuleSet> set)
      : set_(std::move(set)), owned_(make_rules(*set_)) {
    for (const auto& rule : owned_) rules_.push_back(rule.get());
  }

  const std::vector<rewrite::Rule*>& rules() const override { return rules_; }
  const std::vector<std::string>& warnings() const override {
    return set_->warnings();
  }
  const std::vector<const engine::OpBody*>& bodies() const override {
    return set_->bodies();
  }
  const std::vector<Unclaimed>& unclaimed() const override {
    return set_->unclaimed();
  }

  std::string switches(std::size_t rule, ir::Graph& graph,
                       ir::Facts& facts) const override {
    const LoadedRule& its = *set_->rules()[rule];
    std::string all;
    for (const auto& [name, value] : its.options) {
      const bool* flag = std::get_if<bool>(&value);
      if (flag == nullptr) continue;
      LoadedRule turned = its;
      turned.options[name] = !*flag;
      const auto enabled =
          make_rule(set_->sandbox(), turned)->enabled(graph, facts);
      if (!enabled || !*enabled) continue;
      all +=
          (all.empty() ? "" : ", ") + name + (*flag ? " = true" : " = false");
    }
    return all;
  }

 private:
  std::unique_ptr<lua::RuleSet> set_;
  std::vector<std::unique_ptr<rewrite::Rule>> owned_;
  std::vector<rewrite::Rule*> rules_;
};

}  // namespace

RuleFiles::RuleFiles(std::vector<SetOption> options, SandboxLimits limits,
                     std::shared_ptr<const RuleTexts> texts)
    : options_(std::move(options)),
      limits_(std::move(limits)),
      texts_(std::move(texts)) {}

Result<std::unique_ptr<engine::RuleSet>> RuleFiles::load(
    const std::vector<std::string>& paths) const {
  auto set = lua::RuleSet::load(paths, options_, limits_, texts_.get());
  if (!set) return set.error();
  return std::unique_ptr<engine::RuleSet>(
      std::make_unique<LoadedSet>(std::move(*set)));
}

Result<std::string> rules_folder(const RuleTexts* texts) {
  const auto folder = shipped_rules(texts);
  if (!folder) return folder.error();
  return folder->string();
}

Result<std::unique_ptr<engine::RuleSet>> RuleFiles::load_shipped(
    const std::vector<std::string>& paths) const {
  const auto folder = shipped_rules(texts_.get());
  if (!folder) return folder.error();
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    all.push_back((*folder / path).string());
  }
  return load(all);
}

}  // namespace ruleengine::lua
