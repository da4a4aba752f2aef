#include "bindings/api/draft.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bindings/api/examples.h"
#include "bindings/api/questions.h"
#include "bindings/api/rules.h"
#include "bindings/lua/rule_texts.h"

namespace ruleengine::api {
namespace {

using Names = std::vector<std::string>;

// Sizes of a draft by group: those of one group have one name.
using Groups = std::vector<int>;
constexpr int kNumber = -1;  // the size stays the number that the model has

// The groups numbered in the order in which they first occur.
Groups in_order(const Groups& groups) {
  std::map<int, int> numbers;
  Groups out;
  for (const int group : groups) {
    const int next = static_cast<int>(numbers.size());
    out.push_back(group == kNumber
                      ? kNumber
                      : numbers.try_emplace(group, next).first->second);
  }
  return out;
}

// Names as most papers use them.
std::string letter(int group) {
  constexpr std::string_view kLetters = "BSDHKTNMEFGLPQRUVWXYZACIJO";
  const auto at = static_cast<std::size_t>(group);
  const std::string out(1, kLetters[at % kLetters.size()]);
  const std::size_t turn = at / kLetters.size();
  return turn == 0 ? out : out + std::to_string(turn + 1);
}

// Sizes of which no two are equal, and none is 1, so that nothing fits by
// chance.
std::string number(int group) { return std::to_string(group + 2); }

Names named(const Groups& groups, std::string (*name)(int)) {
  Names out;
  for (const int group : in_order(groups)) {
    out.push_back(group == kNumber ? "" : name(group));
  }
  return out;
}

class Drafter {
 public:
  Drafter(ir::Model& model, const std::string& name, const Limits& limits)
      : model_(model), name_(name), limits_(limits) {}

  Result<Drafted> run(const Names& nodes) {
    std::vector<ir::NodeId> ids;
    for (const std::string& each : nodes) {
      const auto id = engine::node_named(model_, each);
      if (!id) return id.error();
      ids.push_back(*id);
    }
    auto draft = lua::Draft::create(model_, ids, lua::op_of_rule(name_));
    if (!draft) return draft.error();
    draft_ = *std::move(draft);
    if (auto status = write(); !status) return status.error();
    return finish(ids);
  }

 private:
  // The most general form whose example passes.
  Status write() {
    const std::vector<lua::Draft::Size>& sizes = draft_->sizes();
    std::map<ir::Dim, int> symbols;
    for (const lua::Draft::Size& each : sizes) {
      const int next = static_cast<int>(symbols.size());
      groups_.push_back(each.is_symbol
                            ? symbols.try_emplace(each.dim, next).first->second
                            : kNumber);
    }
    next_ = static_cast<int>(symbols.size());
    for (const bool literals : {true, false}) {
      literals_ = literals;
      best_ = test(draft_->text(named(groups_, letter), literals));
      if (best_.example.verdict == lua::Verdict::kOk) break;
    }
    if (best_.example.verdict == lua::Verdict::kOk) {
      name_numbers();
      split_groups();
    }
    return limits_.deadline.check();
  }

  // Equal numbers of the model become one group.
  void name_numbers() {
    std::set<ir::Dim> seen;
    for (const lua::Draft::Size& each : draft_->sizes()) {
      if (each.is_symbol || !seen.insert(each.dim).second) continue;
      Groups groups = groups_;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (draft_->sizes()[i].dim == each.dim) groups[i] = next_;
      }
      try_groups(groups);
    }
  }

  // Numbers may be equal by chance: one or two of a group may leave it.
  void split_groups() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (draft_->sizes()[i].is_symbol || groups_[i] == kNumber ||
          std::ranges::count(groups_, groups_[i]) < 2) {
        continue;
      }
      bool done = try_split({i});
      for (std::size_t k = i + 1; k < groups_.size() && !done; ++k) {
        done = groups_[k] == groups_[i] && try_split({i, k});
      }
    }
  }

  bool try_split(std::initializer_list<std::size_t> sizes) {
    Groups groups = groups_;
    for (const std::size_t size : sizes) groups[size] = next_;
    return try_groups(groups);
  }

  // Keeps the groups if the example passes for sizes that differ, too.
  bool try_groups(const Groups& groups) {
    constexpr std::size_t kMostTries = 200;
    if (++tries_ > kMostTries || !limits_.deadline.check()) return false;
    Drafted made;
    for (const auto name : {number, letter}) {
      made = test(draft_->text(named(groups, name), literals_));
      if (made.example.verdict != lua::Verdict::kOk ||
          made.example.executed != best_.example.executed) {
        return false;
      }
    }
    groups_ = groups;
    ++next_;
    best_ = std::move(made);
    return true;
  }

  std::string path() const {
    return std::string(lua::kMemoryRoot) + name_ + ".lua";
  }
  RuleOptions with(const std::string& text) const {
    auto texts = std::make_shared<GivenTexts>("");
    (void)texts->add(name_ + ".lua", text);
    return {.texts = std::move(texts), .limits = limits_};
  }

  Drafted test(std::string text) const {
    TestOptions options;
    static_cast<RuleOptions&>(options) = with(text);
    Tested tested = api::test({path()}, options);
    Drafted out{.text = std::move(text)};
    if (!tested.results.empty()) {
      out.example = std::move(tested.results.front());
      return out;
    }
    out.example.verdict = lua::Verdict::kError;
    if (!tested.errors_of_files.empty()) {
      out.example.detail = tested.errors_of_files.front().text();
    }
    return out;
  }

  // What the rule does in the model.
  Result<Drafted> finish(const std::vector<ir::NodeId>& nodes) {
    if (best_.example.verdict == lua::Verdict::kError) return best_;
    const auto rules = load_rules({path()}, with(best_.text));
    if (!rules) return rules.error();
    engine::RunOptions options;
    options.limits.deadline = limits_.deadline;
    const auto matches = api::match(model_, **rules, options);
    if (!matches) return matches.error();
    for (const rewrite::Found& found : matches->found) {
      if (found.rejection) continue;
      ++best_.matches;
      const bool is_there =
          found.graph == &model_.graph &&
          std::ranges::any_of(found.nodes, [&](ir::NodeId id) {
            return std::ranges::find(nodes, id) != nodes.end();
          });
      best_.fires_there = best_.fires_there || is_there;
    }
    return std::move(best_);
  }

  ir::Model& model_;
  const std::string& name_;
  const Limits& limits_;
  std::unique_ptr<lua::Draft> draft_;
  Groups groups_;
  int next_ = 0;  // no size is in this group
  bool literals_ = true;
  std::size_t tries_ = 0;
  Drafted best_;
};

}  // namespace

Result<Drafted> draft_rule(ir::Model& model,
                           const std::vector<std::string>& nodes,
                           const std::string& name, const Limits& limits) {
  return Drafter(model, name, limits).run(nodes);
}

}  // namespace ruleengine::api
