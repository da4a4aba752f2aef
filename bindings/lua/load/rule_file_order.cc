// Applies settings and options of packs, then orders rules, and finds rules
// that another one always preempts.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "bindings/lua/load/rule_file_loader.h"
#include "core/base/folder.h"
#include "core/base/suggest.h"
#include "core/match/overlap.h"
#include "core/rewrite/precedence.h"

namespace ruleengine::lua {
namespace {

Diagnostic usage(std::string what, std::string hint = {}) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .hint = std::move(hint)};
}

bool answers_to(const LoadedRule& rule, std::string_view name) {
  return name == rule.name || name == rule.qualified;
}

// Sets the option of one file; false if it has no such option.
Result<bool> set_in(DeclaredOptions& options, const SetOption& set) {
  const auto option = options.find(set.option);
  if (option == options.end()) return false;
  std::optional<OptionValue> value =
      option_from_text(set.value, option->second.type);
  if (!value) {
    Diagnostic error = usage(
        fmt::format("{}.{} cannot have this value", set.rule, set.option));
    error.expected = fmt::format("a {}", option_type_name(option->second.type));
    error.found = set.value;
    return error;
  }
  option->second.value = std::move(value);
  return true;
}

std::vector<std::string> names_of_all(Loader& loader) {
  std::set<std::string> names;
  for (const RuleInLoad& each : loader.rules()) names.insert(each.rule->name);
  for (const LoadedPack& pack : loader.packs()) names.insert(pack.name);
  return {names.begin(), names.end()};
}

// Packs are sorted by name, so that the order of the command line does not
// matter if two packs have the same rule.
auto pack_order(const LoadedPack& pack) {
  return std::tie(pack.name, pack.real);
}

// Options that were set explicitly, which a pack must not change.
using Settled = std::set<std::pair<std::size_t, std::string>>;

Status apply_set(Loader& loader, const SetOption& set, Settled& settled) {
  bool named = false, done = false;
  std::vector<std::string> known;
  const auto apply = [&](DeclaredOptions& options) -> Result<bool> {
    named = true;
    std::ranges::move(names_of(options), std::back_inserter(known));
    Result<bool> found = set_in(options, set);
    if (found) done = done || *found;
    return found;
  };
  for (std::size_t i = 0; i < loader.rules().size(); ++i) {
    RuleInLoad& each = loader.rules()[i];
    if (!answers_to(*each.rule, set.rule)) continue;
    Result<bool> found = apply(each.options);
    if (!found) return found.error();
    if (*found) settled.emplace(i, set.option);
  }
  for (LoadedPack& pack : loader.packs()) {
    if (pack.name != set.rule) continue;
    if (Result<bool> found = apply(pack.options); !found) {
      return found.error();
    }
  }
  if (!named) {
    loader.unclaimed().push_back(
        {fmt::format("{}.{}={}", set.rule, set.option, set.value),
         usage(fmt::format("{}.{} cannot be set: no rule '{}' is loaded",
                           set.rule, set.option, set.rule),
               suggestion(set.rule, names_of_all(loader)))});
    return {};
  }
  if (!done) {
    return usage(fmt::format("{}.{} cannot be set: '{}' has no such option",
                             set.rule, set.option, set.rule),
                 suggestion(set.option, known));
  }
  return {};
}

Status wrong_pack_option(const LoadedPack& pack, const std::string& name,
                         int line, std::string what) {
  return Diagnostic{
      .kind = ErrorKind::kRule,
      .what = fmt::format("option '{}' of the pack: {}", name, what),
      .where = fmt::format("{}:{}", pack.file, line)};
}

// Passes an option of a pack to its rules.
Status hand_down(Loader& loader, std::size_t pack_index,
                 const std::string& name, const Settled& settled) {
  const LoadedPack& pack = loader.packs()[pack_index];
  const DeclaredOption& option = pack.options.at(name);
  bool taken = false;
  for (std::size_t i = 0; i < loader.rules().size(); ++i) {
    RuleInLoad& each = loader.rules()[i];
    const bool member =
        std::ranges::find(each.packs, pack_index, &RuleInLoad::Member::pack) !=
        each.packs.end();
    const auto own = each.options.find(name);
    if (!member || own == each.options.end()) continue;
    if (own->second.type != option.type) {
      return wrong_pack_option(
          pack, name, option.line,
          fmt::format("a {} here and a {} in {}", option_type_name(option.type),
                      option_type_name(own->second.type), each.rule->file));
    }
    taken = true;
    if (!each.direct && !settled.contains({i, name})) {
      own->second.value = option.value;
    }
  }
  if (taken) return {};
  return wrong_pack_option(pack, name, option.line,
                           "none of its rules has an option of that name");
}

}  // namespace

Status apply_options(Loader& loader, const std::vector<SetOption>& options) {
  Settled settled;
  for (const SetOption& set : options) {
    if (Status status = apply_set(loader, set, settled); !status) {
      return status;
    }
  }
  for (RuleInLoad& each : loader.rules()) {
    for (const auto& [name, option] : each.options) {
      if (option.value) each.rule->own_options.emplace(name, *option.value);
    }
  }
  std::vector<std::size_t> packs(loader.packs().size());
  std::iota(packs.begin(), packs.end(), 0);
  std::ranges::sort(packs, {}, [&](std::size_t pack) {
    return pack_order(loader.packs()[pack]);
  });
  for (const std::size_t pack : packs) {
    for (const auto& [name, option] : loader.packs()[pack].options) {
      if (Status status = hand_down(loader, pack, name, settled); !status) {
        return status;
      }
    }
  }
  for (RuleInLoad& each : loader.rules()) {
    for (auto& [name, option] : each.options) {
      if (option.value) {
        each.rule->options.emplace(name, *option.value);
      } else {
        each.rule->unset_options.push_back(name);
      }
    }
  }
  return {};
}

// --- order ---

namespace {

// By phase; then rules of a pack in its order, others by their names.
auto order_key(const RuleInLoad& each, const std::vector<LoadedPack>& packs) {
  std::string group =
      each.rule->qualified.substr(0, each.rule->qualified.find('/'));
  std::size_t position = SIZE_MAX;
  const auto best = std::ranges::min_element(
      each.packs, {},
      [&](const auto& of) { return pack_order(packs[of.pack]); });
  if (best != each.packs.end()) {
    group = packs[best->pack].name;
    position = best->position;
  }
  return std::tuple(static_cast<int>(each.rule->phase), std::move(group),
                    position, each.rule->qualified);
}

Status check_names(Loader& loader) {
  std::map<std::string, const LoadedRule*> seen;
  for (const RuleInLoad& each : loader.rules()) {
    const auto [at, fresh] =
        seen.emplace(each.rule->qualified, each.rule.get());
    if (fresh) continue;
    return Diagnostic{
        .kind = ErrorKind::kRule,
        .what =
            fmt::format("two rules have the name '{}'", each.rule->qualified),
        .where = fmt::format("{}:{}", each.rule->file, each.rule->line),
        .found = fmt::format("the other one is {}:{}", at->second->file,
                             at->second->line),
        .hint = "give one of them another `name`"};
  }
  return {};
}

Result<std::vector<std::uint32_t>> levels_of(
    const std::vector<RuleInLoad>& rules) {
  std::vector<rewrite::Precedent> out;
  out.reserve(rules.size());
  for (const RuleInLoad& each : rules) {
    const LoadedRule& rule = *each.rule;
    out.push_back({.name = rule.name,
                   .qualified = rule.qualified,
                   .file = rule.file,
                   .line = rule.line,
                   .phase = rule.phase,
                   .after = rule.after});
  }
  return rewrite::levels(out);
}

// Sorts each phase by level, stably.
void sort_by_level(std::vector<RuleInLoad>& rules,
                   const std::vector<std::uint32_t>& levels) {
  std::vector<std::tuple<rewrite::Phase, std::uint32_t, std::size_t>> order;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    order.emplace_back(rules[i].rule->phase, levels[i], i);
  }
  std::ranges::sort(order);
  std::vector<RuleInLoad> sorted;
  sorted.reserve(rules.size());
  for (const auto& [phase, level, i] : order) {
    sorted.push_back(std::move(rules[i]));
  }
  rules = std::move(sorted);
}

}  // namespace

Status order_rules(Loader& loader) {
  if (Status status = check_names(loader); !status) return status;
  std::vector<RuleInLoad>& rules = loader.rules();
  std::ranges::sort(rules, {}, [&](const RuleInLoad& each) {
    return order_key(each, loader.packs());
  });
  const auto levels = levels_of(rules);
  if (!levels) return levels.error();
  sort_by_level(rules, *levels);
  return {};
}

namespace {

std::string without_digits(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return c >= '0' && c <= '9'; });
  return out;
}

// Whether a file of such a rule is beside this one, or in a folder next to its
// own: then the rule exists and is not loaded.
bool is_beside(const RuleInLoad& rule, const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path pack = rule.real.parent_path().parent_path();
  std::error_code error;
  const auto is_file = [&](const fs::path& path) {
    return fs::exists(path.string() + ".lua", error);
  };
  if (is_file(pack / name)) return true;
  return std::ranges::any_of(
      names_in(pack, error),
      [&](const std::string& each) { return is_file(pack / each / name); });
}

// The loaded rule whose name was probably meant; "" if another rule may be
// meant that is not loaded.
std::string_view meant_by(const std::string& name, const RuleInLoad& rule,
                          const std::vector<RuleInLoad>& rules) {
  std::vector<std::string_view> known;
  const bool qualified = name.find('/') != name.npos;
  for (const RuleInLoad& each : rules) {
    if (answers_to(*each.rule, name)) return {};
    if (each.rule->phase != rule.rule->phase || &each == &rule) continue;
    known.push_back(qualified ? each.rule->qualified : each.rule->name);
  }
  const std::string_view near = nearest(name, known);
  // Names like p1 and p2 are different on purpose.
  if (near.empty() || without_digits(near) == without_digits(name)) return {};
  const std::size_t most = name.size() < 6 ? 1 : 2;
  return edit_distance(name, near) > most || is_beside(rule, name)
             ? std::string_view()
             : near;
}

}  // namespace

void warn_of_after(Loader& loader) {
  for (const RuleInLoad& each : loader.rules()) {
    for (const std::string& name : each.rule->after) {
      const std::string_view meant = meant_by(name, each, loader.rules());
      if (meant.empty()) continue;
      loader.warnings().push_back(fmt::format(
          "rule '{}' has `after` '{}', but no loaded rule has that name; {} "
          "({}:{})",
          each.rule->qualified, printable(name, 60), did_you_mean({&meant, 1}),
          each.rule->file, each.rule->line));
    }
  }
}

void warn_of_shadowed(Loader& loader) {
  std::map<rewrite::Phase, std::vector<const LoadedRule*>> phases;
  for (const RuleInLoad& each : loader.rules()) {
    if (each.rule->pattern) phases[each.rule->phase].push_back(each.rule.get());
  }
  for (const auto& [phase, rules] : phases) {
    std::vector<match::Tried> tried;
    for (const LoadedRule* rule : rules) {
      tried.push_back({&*rule->pattern, rule->unconditional});
    }
    for (const match::Shadow& shadow : match::shadowed(tried)) {
      const LoadedRule& rule = *rules[shadow.rule];
      const LoadedRule& by = *rules[shadow.by];
      loader.warnings().push_back(fmt::format(
          "rule '{}' is preempted: '{}' of the same phase runs first "
          "and matches everywhere it does ({}:{}, {}:{})",
          rule.qualified, by.qualified, rule.file, rule.line, by.file,
          by.line));
    }
  }
}

}  // namespace ruleengine::lua
