// Rule files: loads rules, packs and libs and makes what a rule file says into
// plain data: names, options, pattern, examples and references to its callbacks
// in the Sandbox's registry. Everything that can be wrong with a rule file is
// found here, with file and line (RULES.md, "Refused at load"). LoadedRules
// live as long as the RuleSet that made them; so does the Sandbox.
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
// an ordered list of rule files, without ".lua", below the pack's own folder.
// An option of a pack is handed to each of its rules that declares an option of
// that name, in place of the rule's default; a rule that is also named by
// itself on the command line keeps its own.
//
// `lib "name"` runs name.lua of the first folder that has it: for a rule file
// in FOLDER these are FOLDER/lib, the lib folders of the two folders above, and
// the rules/lib that comes with the program; a lib looks beside itself first.
// It runs once for each rule file, so nothing is shared between rules.
//
// The default phase is the one that the rule's folder is named after:
// canonical, attention, quantization, linear, sequence_parallel (or parallel),
// targets (or a folder in it); elsewhere it is conversion.
#ifndef RULEENGINE_BINDINGS_LUA_RULE_FILE_H_
#define RULEENGINE_BINDINGS_LUA_RULE_FILE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bindings/lua/callbacks/replacement.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "core/base/result.h"
#include "core/engine/rule_set.h"
#include "core/pattern/pattern.h"
#include "core/rewrite/rule.h"

namespace ruleengine::lua {

using OptionValue = std::variant<bool, double, std::string>;

// A reference in the Lua registry; 0: the key is not in the file.
using FunctionRef = int;

struct Example {
  std::string title;
  std::string before;                   // graph text
  std::optional<std::string> after;     // node list
  std::optional<std::string> rejected;  // the reason
  std::optional<std::string> warned;    // a substring of a warning
  std::optional<std::string> assumed;   // a substring of an assumption
  std::optional<bool> matches;          // of a lint
  std::string file;  // where `before` came from, if from a file
  int line = 0;
  std::map<std::string, OptionValue> options;  // of this example alone
};

struct LoadedRule {
  std::string name;       // file's stem, or the key
  std::string qualified;  // "<folder>/<name>", the pack's folder
  std::string file;       // as given by the user
  std::string doc;
  rewrite::Phase phase = rewrite::Phase::kConversion;
  std::vector<std::string> after;
  std::map<std::string, OptionValue> options;  // as they are set
  // Declared without a default, as in `options = {divisor = {"number"}}`, and
  // not set: m.options.NAME is nil.
  std::vector<std::string> unset_options;
  // As if the file were given by itself: no pack has changed these. Examples
  // are of the rule, not of its packs.
  std::map<std::string, OptionValue> own_options;
  std::vector<std::pair<std::string, std::string>> meta;
  bool changes_meaning = false;
  bool lint = false;  // says where it matches, and rewrites nothing
  // Nothing but the pattern decides: no callback can turn a match down.
  bool unconditional = false;
  int line = 0;  // of the `rule` call

  std::optional<pattern::Pattern> pattern;  // none: only a `pass`
  std::optional<Replacement> replacement;   // `replace` for `rewrite`
  // The names of `match`'s parameters after `op`, in order.
  std::vector<std::string> parameters;
  // The names that the callbacks put onto m somewhere, sorted: read before
  // that they are nil, where any other name is an error.
  std::vector<std::string> computed;
  FunctionRef where = 0, rewrite = 0, together = 0, when = 0, pass = 0;
  std::vector<Example> examples;
};

struct SetOption {
  std::string rule, option, value;  // an option of a rule or pack
};

class RuleSet {
 public:
  // Loads every file (a rule or a pack) and folder (its own *.lua) once; a rule
  // reached twice counts once. Deterministic order: by phase, then `after`,
  // then as a pack lists them, others by their qualified names: the order of
  // the command line has no meaning.
  static Result<std::unique_ptr<RuleSet>> load(
      const std::vector<std::string>& paths,
      const std::vector<SetOption>& options, const SandboxLimits& limits);
  ~RuleSet();

  Sandbox& sandbox() const;
  const std::vector<std::unique_ptr<LoadedRule>>& rules() const;
  // Load-time warnings (a pattern that another one always takes first).
  const std::vector<std::string>& warnings() const;
  // Options that were to be set of rules that are not here.
  const std::vector<engine::RuleSet::Unclaimed>& unclaimed() const;

 private:
  struct Impl;
  explicit RuleSet(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The rules as the driver sees them (bindings/lua/callbacks/rule.cc); they
// refer to `set`, which must outlive them.
std::vector<std::unique_ptr<rewrite::Rule>> make_rules(RuleSet& set);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_RULE_FILE_H_
