// Rules from files, folders and the packs that ship.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/api/limits.h"
#include "bindings/lua/rule_file.h"
#include "bindings/lua/rule_source.h"
#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/ir/model.h"

namespace ruleengine::api {

struct RuleOptions {
  std::vector<lua::SetOption> sets;  // options of rules
  // Rules whose paths begin with "memory:/"; may be null.
  std::shared_ptr<const lua::RuleTexts> texts;
  Limits limits;
};

// The file of a pack that ships, in the folder that `texts` may name; kUsage
// where there is no pack of that name.
Result<std::string> shipped_pack(const std::string& name,
                                 const lua::RuleTexts* texts);
// Adds the folder of the rules that ship to an empty list.
Status add_shipped(std::vector<std::string>& paths,
                   const lua::RuleTexts* texts);

// Rule files in memory: those that were added, then what a function gives.
class GivenTexts final : public lua::RuleTexts {
 public:
  using Read = std::function<Result<std::optional<std::string>>(
      const std::string& path)>;

  // `shipped`: the folder of the rules that ship; "": where they were
  // installed.
  explicit GivenTexts(std::string shipped) : shipped_(std::move(shipped)) {}

  // kUsage for a name that no path can have, and for one that is there.
  Status add(const std::string& name, std::string text);
  void then_ask(Read read) { read_ = std::move(read); }
  // Asks no more.
  void end() const { read_ = nullptr; }

  std::string shipped() const override { return shipped_; }
  Result<std::optional<std::string>> read(
      const std::string& path) const override;

 private:
  std::map<std::string, std::string> files_;
  std::string shipped_;
  mutable Read read_;
};

lua::SandboxLimits sandbox_limits(const Limits& limits);

// The rules of these paths; if there are none, those of `shipped`, paths below
// rules/. Fails for a setting that names no rule of them.
using LoadedRules = std::unique_ptr<engine::RuleSet>;
Result<LoadedRules> load_rules(const std::vector<std::string>& paths,
                               const RuleOptions& options,
                               const std::vector<std::string>& shipped = {});

// Runs the rules of these paths over the model, without a target.
Status run_rules(ir::Model& model, const std::vector<std::string>& paths,
                 const RuleOptions& options, const engine::RunOptions& how);

}  // namespace ruleengine::api
