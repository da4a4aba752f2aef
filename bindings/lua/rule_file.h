// Rule files: loads rules, packs and libs and turns rule files into plain data:
// names, options, pattern, examples and references to the callbacks in the
// Sandbox's registry. All errors in a rule file that can be found without a
// model are found here, with file and line (RULES.md, "Refused at load").
// LoadedRules live as long as the RuleSet that made them; so does the Sandbox.
//
// A rule file returns `rule{...}`. A pack returns
//
//   return pack {
//     doc = [[what these rules are for]],
//     options = {enable = false},
//     "attention/compose_scaled_dot_product_attention",
//     "attention/compose_parallel_linears",
//   }
//
// The rule files of a pack are in order, without ".lua", as paths below the
// pack's folder. An option of a pack is passed to each of its rules that
// declares an option with that name, in place of the rule's default; a rule
// that is also given on the command line keeps its own.
//
// `lib "name"` runs name.lua of the first folder that has it: for a rule file
// in FOLDER these are FOLDER/lib, the lib folders of the two folders above, and
// the rules/lib that comes with the program; a lib looks beside itself first.
// It runs once for each rule file, so rules share no state.
//
// The default phase is that of the rule's folder: canonical, attention,
// quantization, linear, sequence_parallel (or parallel), targets (or a folder
// in it); for others it is conversion.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "bindings/lua/rule_texts.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/words/replacement.h"
#include "core/base/result.h"
#include "core/engine/op_bodies.h"
#include "core/engine/rule_set.h"
#include "core/pattern/pattern.h"
#include "core/rewrite/rule.h"

namespace ruleengine::lua {

class Loader;

using OptionValue = std::variant<bool, double, std::string>;

struct Example {
  std::string title;
  std::string before;                   // graph text
  std::optional<std::string> after;     // node list
  std::optional<std::string> rejected;  // the reason
  std::optional<std::string> warned;    // a substring of a warning
  std::optional<std::string> assumed;   // a substring of an assumption
  std::optional<bool> matches;          // for a lint
  bool changes_meaning = false;         // with its options; not executed
  std::string file;  // the file with `before`, if it is not in the rule file
  int line = 0;
  std::map<std::string, OptionValue> options;  // for this example only
};

// What an op of the user's own means, as the file gives it.
struct LoadedBody {
  std::string domain, type;
  std::string text;          // of a function, or
  FunctionRef function = 0;  // a function in the words of `rewrite`
  int line = 0;
};

struct LoadedRule {
  std::string name;       // file's stem, or the key
  std::string qualified;  // "<folder>/<name>", the pack's folder
  std::string file;       // as given by the user
  std::string doc;
  rewrite::Phase phase = rewrite::Phase::kConversion;
  std::vector<std::string> after;
  std::map<std::string, OptionValue> options;  // with their current values
  // Declared without a default, as in `options = {divisor = {"number"}}`, and
  // not set: m.options.NAME is nil.
  std::vector<std::string> unset_options;
  // The values without those of packs: examples test the rule, not its packs.
  std::map<std::string, OptionValue> own_options;
  std::vector<std::pair<std::string, std::string>> meta;
  std::optional<rewrite::Deviation> changes_meaning;
  bool lint = false;  // reports its matches and rewrites nothing
  // Whether every match is rewritten: no callback can reject one.
  bool unconditional = false;
  int line = 0;  // of the call of `rule`

  std::optional<pattern::Pattern> pattern;  // none if there is only a `pass`
  std::optional<Replacement> replacement;   // `replace`, instead of `rewrite`
  // The names of `match`'s parameters after `op`, in order.
  std::vector<std::string> parameters;
  // The names that the callbacks assign to m, sorted: they may be read before,
  // as nil, while other unknown names are an error.
  std::vector<std::string> computed;
  FunctionRef where = 0, rewrite = 0, together = 0, when = 0, pass = 0;
  std::vector<Example> examples;
  std::vector<LoadedBody> bodies;  // `body`, by the names of the ops
};

struct SetOption {
  std::string rule, option, value;  // an option of a rule or pack
};

class RuleSet {
 public:
  // Loads every file (a rule or a pack) and folder (its own *.lua) once; a rule
  // that is reached twice counts once. Deterministic order: by phase, then
  // `after`, then the order of the pack, other rules by their qualified names.
  // The order of the paths has no meaning. `texts` is read during the load.
  static Result<std::unique_ptr<RuleSet>> load(
      const std::vector<std::string>& paths,
      const std::vector<SetOption>& options, const SandboxLimits& limits,
      const RuleTexts* texts = nullptr);
  ~RuleSet();

  Sandbox& sandbox() const { return *sandbox_; }
  const std::vector<std::unique_ptr<LoadedRule>>& rules() const {
    return rules_;
  }
  // Warnings about the rules, such as a pattern that another one always
  // preempts.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // What ops of the user's own mean, by their names.
  const std::vector<const engine::OpBody*>& bodies() const { return bodies_; }
  // Settings of options for rules that are not in this set.
  const std::vector<engine::RuleSet::Unclaimed>& unclaimed() const {
    return unclaimed_;
  }

 private:
  RuleSet();

  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<Loader> loader_;  // the sandbox has its C functions
  std::vector<std::unique_ptr<LoadedRule>> rules_;
  std::vector<std::unique_ptr<engine::OpBody>> owned_bodies_;
  std::vector<const engine::OpBody*> bodies_;
  std::vector<std::string> warnings_;
  std::vector<engine::RuleSet::Unclaimed> unclaimed_;
};

// The rules as the driver sees them (bindings/lua/callbacks/rule.cc); they
// refer to `set`, which must outlive them.
std::vector<std::unique_ptr<rewrite::Rule>> make_rules(RuleSet& set);

// The names of the rule files in a folder, sorted.
std::vector<std::string> rule_files_in(const std::string& folder,
                                       std::error_code& error);

}  // namespace ruleengine::lua
