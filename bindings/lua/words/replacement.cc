#include "bindings/lua/words/replacement.h"

#include <algorithm>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/words/words.h"

namespace ruleengine::lua {
namespace {

using pattern::NodePattern;
using pattern::TermId;
using pattern::TermKind;

class Check {
 public:
  Check(const Replacement& replacement, const pattern::Pattern& pattern)
      : made_(replacement),
        pattern_(pattern),
        seen_(replacement.draft.nodes().size()) {}

  std::optional<ReplacementProblem> run() {
    if (made_.draft.terms().size() > pattern::kMaxTerms ||
        height() > pattern::kMaxHeight) {
      report(made_.line, wrong("the replacement is too large"));
      return std::move(problem_);
    }
    if (made_.results.size() != pattern_.results().size()) {
      report(made_.line,
             wrong("the replacement and its pattern return different "
                   "numbers of results",
                   std::to_string(pattern_.results().size()),
                   std::to_string(made_.results.size())));
    }
    for (const TermId result : made_.results) {
      look(result, made_.line, "a result of a replacement");
    }
    return std::move(problem_);
  }

 private:
  // The longest chain of nodes. Terms come after the terms that they use.
  std::size_t height() const {
    std::vector<std::size_t> of_term(made_.draft.terms().size());
    std::size_t most = 0;
    for (std::size_t i = 0; i < of_term.size(); ++i) {
      const pattern::Term& term = made_.draft.terms()[i];
      if (term.kind != TermKind::kOutput) continue;
      for (const TermId input : made_.draft[term.node].inputs) {
        of_term[i] = std::max(of_term[i], of_term[input.index()] + 1);
      }
      most = std::max(most, of_term[i]);
    }
    return most;
  }

  void report(int line, Diagnostic error) {
    if (!problem_) problem_ = {line, std::move(error)};
  }

  void look(TermId id, int line, const char* what) {
    const pattern::Term& term = made_.draft[id];
    switch (term.kind) {
      case TermKind::kVariable:
      case TermKind::kAbsent:
      case TermKind::kNumbers:
        return;
      case TermKind::kTranspose:
        if (made_.draft[term.base].variable.index() < made_.shared_variables) {
          return;
        }
        break;
      case TermKind::kOutput:
        return look_at_node(term.node);
      case TermKind::kRest:
        if (term.variable) return;
        break;
      case TermKind::kEither:
      case TermKind::kContext:
        // The branch that was taken stands for it.
        if (id.index() < made_.shared_terms) return;
        break;
      default:
        break;
    }
    report(line, wrong(std::string(what) + " is " + name(term.kind),
                       "what can be built: parameters, ops, numbers", {},
                       hint(term.kind)));
  }

  static const char* name(TermKind kind) {
    switch (kind) {
      case TermKind::kAny:
        return "`any`";
      case TermKind::kEither:
        return "an `either` or `maybe` that the pattern does not have";
      case TermKind::kContext:
        return "a `context` that the pattern does not have";
      case TermKind::kRest:
        return "a `rest` without a name";
      case TermKind::kMany:
        return "a chain of `many`";
      default:
        return "a word that only works in `match`";
    }
  }
  static const char* hint(TermKind kind) {
    return kind == TermKind::kAny || kind == TermKind::kRest
               ? "`any` keeps an input of a node of the pattern, which "
                 ":as \"name\" selects"
               : "";
  }

  void look_at_node(pattern::NodePatternId id) {
    if (id.index() < made_.shared_nodes || seen_[id.index()]) return;
    seen_[id.index()] = true;
    const NodePattern& node = made_.draft[id];
    const pattern::VariableId tag = made_.kept(node);
    if (tag) {
      check_kept(node, tag);
    } else {
      check_new(node);
    }
    for (const TermId input : node.inputs) {
      const bool any = made_.draft[input].kind == TermKind::kAny;
      if (!any || !tag) look(input, node.line, "an input of a new node");
    }
  }

  void check_kept(const NodePattern& node, pattern::VariableId tag) {
    const NodePattern* last = nullptr;
    for (const NodePattern& each : pattern_.nodes()) {
      if (std::ranges::find(each.tags, tag) == each.tags.end()) continue;
      if (each.domain == node.domain && each.type == node.type) return;
      last = &each;
    }
    Diagnostic error = wrong("'" + made_.draft[tag].name +
                             "' has a different op in the replacement");
    if (last != nullptr) error.expected = last->op_text();
    error.found = node.op_text();
    error.hint =
        "a node with the same name is kept; give a new node another name";
    report(node.line, std::move(error));
  }

  void check_new(const NodePattern& node) {
    const bool any = std::ranges::any_of(node.attributes, [](const auto& each) {
      return each.kind == pattern::AttributePattern::Kind::kAny;
    });
    if (node.op_class != nullptr) {
      return report(
          node.line,
          wrong("a new node cannot be " + node.op_text(), {}, {},
                std::string(ops::class_hint(node.domain, node.type))));
    }
    if (!any && !node.open_attributes && !node.open_inputs) return;
    report(node.line, wrong("a new " + node.op_text() + " cannot contain `any`",
                            {}, {}, hint(TermKind::kAny)));
  }

  const Replacement& made_;
  const pattern::Pattern& pattern_;
  std::vector<bool> seen_;
  std::optional<ReplacementProblem> problem_;
};

}  // namespace

pattern::VariableId Replacement::kept(const pattern::NodePattern& node) const {
  for (const pattern::VariableId tag : node.tags) {
    if (tag.index() < shared_variables) return tag;
  }
  return {};
}

std::optional<ReplacementProblem> check_replacement(
    const Replacement& replacement, const pattern::Pattern& pattern) {
  return Check(replacement, pattern).run();
}

}  // namespace ruleengine::lua
