#include "bindings/api/draft.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
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

Names lettered(const Groups& groups) {
  Names out;
  for (const int group : in_order(groups)) {
    out.push_back(group == kNumber ? "" : letter(group));
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
    auto op = op_of_rule(name_);
    if (!op) return op.error();
    op_ = *std::move(op);
    auto draft = lua::Draft::create(model_, ids);
    if (!draft) return draft.error();
    draft_ = std::make_unique<lua::Draft>(*std::move(draft));
    for (std::size_t i = 0; i < model_.graph.node_count(); ++i) {
      const ir::Op& op_of_node = model_.graph.op(ir::NodeId(i));
      if (op_of_node.domain == "com.example" && op_of_node.type == op_) {
        return Diagnostic{.kind = ErrorKind::kUsage,
                          .what = "the model has this op already",
                          .found = "com.example." + op_,
                          .hint = "give the rule another name"};
      }
    }
    if (auto status = write(); !status) return status.error();
    return finish();
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
    if (auto status = choose_literals(); !status) return status;
    if (best_.example.verdict == lua::Verdict::kOk) {
      name_numbers();
      split_groups();
    }
    return limits_.deadline.check();
  }

  // Prefers a form that is executed, and then one with literals.
  Status choose_literals() {
    std::optional<Drafted> forms[2];
    for (const bool literals : {true, false}) {
      literals_ = literals;
      auto made = test(lettered(groups_));
      if (!made) return made.error();
      if (made->example.verdict == lua::Verdict::kOk &&
          made->example.not_executed.empty()) {
        best_ = *std::move(made);
        return {};
      }
      forms[literals ? 0 : 1] = *std::move(made);
    }
    literals_ = forms[0]->example.verdict == lua::Verdict::kOk ||
                forms[1]->example.verdict != lua::Verdict::kOk;
    best_ = *std::move(forms[literals_ ? 0 : 1]);
    return {};
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
    constexpr std::size_t kMostTries = 1000;
    if (++tries_ > kMostTries || !limits_.deadline.check()) return false;
    Drafted made;
    for (const Names& names : {numbered(groups), lettered(groups)}) {
      auto tested = test(names);
      if (!tested || tested->example.verdict != lua::Verdict::kOk ||
          tested->example.executed != best_.example.executed) {
        return false;
      }
      made = *std::move(tested);
    }
    groups_ = groups;
    ++next_;
    best_ = std::move(made);
    return true;
  }

  // A number for each group, that no other size has, nor 1: so that nothing
  // fits by chance.
  Names numbered(const Groups& groups) const {
    std::set<std::int64_t> taken = {0, 1};
    for (const lua::Draft::Size& each : draft_->sizes()) {
      if (each.dim.known()) taken.insert(each.dim.size());
    }
    std::map<int, std::string> numbers;
    std::int64_t next = 2;
    Names out;
    for (const int group : groups) {
      if (group == kNumber) {
        out.emplace_back();
        continue;
      }
      const auto [at, is_new] = numbers.try_emplace(group);
      if (is_new) {
        while (taken.contains(next)) ++next;
        at->second = std::to_string(next++);
      }
      out.push_back(at->second);
    }
    return out;
  }

  std::string path() const {
    return std::string(lua::kMemoryRoot) + name_ + ".lua";
  }
  RuleOptions with(const std::string& text) const {
    auto texts = std::make_shared<GivenTexts>("");
    (void)texts->add(name_ + ".lua", text);
    return {.texts = std::move(texts), .limits = limits_};
  }

  // Fails if the rule cannot be loaded, or its example cannot be read.
  Result<Drafted> test(const Names& names) const {
    Drafted out{.text = draft_->text(op_, names, literals_)};
    TestOptions options;
    static_cast<RuleOptions&>(options) = with(out.text);
    Tested tested = api::test({path()}, options);
    for (const auto* errors :
         {&tested.errors_of_files, &tested.errors_of_examples}) {
      if (errors->empty()) continue;
      Diagnostic error = errors->front();
      if (error.kind == ErrorKind::kRule) error.kind = ErrorKind::kUsage;
      error.what = "no rule can be made of these nodes: " + error.what;
      return error;
    }
    out.example = std::move(tested.results.at(0));
    // The op has a body, unless that cannot be made.
    lua::ExampleResult& example = out.example;
    if (example.verdict == lua::Verdict::kOk &&
        example.not_executed.find("com.example." + op_) != std::string::npos) {
      example.verdict = lua::Verdict::kMissing;
      example.detail = "the op gets no body: " + example.not_executed;
    }
    return out;
  }

  // What the rule does in the model.
  Result<Drafted> finish() {
    const auto rules = load_rules({path()}, with(best_.text));
    if (!rules) return rules.error();
    engine::RunOptions options;
    options.limits.deadline = limits_.deadline;
    const auto matches = api::match(model_, **rules, options);
    if (!matches) return matches.error();
    for (const rewrite::Found& found : matches->found) {
      if (found.rejection) continue;
      ++best_.matches;
      const auto has = [&](ir::NodeId id) {
        return std::ranges::find(found.nodes, id) != found.nodes.end();
      };
      best_.fires_there =
          best_.fires_there || (found.graph == &model_.graph &&
                                std::ranges::all_of(draft_->nodes(), has));
    }
    return std::move(best_);
  }

  ir::Model& model_;
  const std::string& name_;
  const Limits& limits_;
  std::string op_;
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
