// `run --step`: asks about each rewrite.

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "bindings/api/questions.h"
#include "bindings/cli/run.h"
#include "bindings/cli/terminal.h"

namespace ruleengine::cli {
namespace {

// Text of a model without its header.
std::string graph_of(const ir::Model& model) {
  const auto text = api::print(model, false, {});
  if (!text) return "  " + text.error().what + "\n";
  const auto header = text->find("\n>\n");
  return indented(text->substr(header == text->npos ? 0 : header + 3), 2);
}

class Asker {
 public:
  bool ask(const api::Step& step) {
    const std::pair site(step.rule.qualified(), step.values[0]);
    // A run may undo a rewrite, and come to it again.
    const auto known = answers_.find(site);
    if (known != answers_.end()) return known->second;
    const bool answer = decide(step);
    answers_.emplace(site, answer);
    return answer;
  }

 private:
  bool decide(const api::Step& step) {
    if (quits_) return false;
    if (keeps_all_ || kept_.contains(step.rule.name())) return true;
    rule_ = step.rule.name();
    show("{}. {} at {}\n", ++count_, step.rule.name(),
         quoted_name(step.values[0]));
    if (step.before == nullptr) {
      show("  cannot be shown: {}\n", printable(step.why_not));
    } else {
      show("before:\n{}after:\n{}", graph_of(*step.before),
           graph_of(*step.after));
    }
    return read();
  }

  bool read() {
    for (;;) {
      put("keep it? y yes, n no, r yes to this rule, a yes to all, q quit\n");
      std::fflush(stdout);
      std::string line;
      if (!std::getline(std::cin, line)) line = "q";
      if (line == "y" || line == "yes") return true;
      if (line == "n" || line == "no") return false;
      if (line == "r") return keeps_rule();
      if (line == "a") return keeps_all_ = true;
      if (line == "q") return !(quits_ = true);
    }
  }

  bool keeps_rule() {
    kept_.insert(rule_);
    return true;
  }

  std::map<std::pair<std::string, std::string>, bool> answers_;
  std::set<std::string> kept_;  // rules
  std::string rule_;            // of the question
  std::size_t count_ = 0;
  bool keeps_all_ = false, quits_ = false;
};

}  // namespace

api::AskStep ask_on_terminal() {
  return [asker = std::make_shared<Asker>()](const api::Step& step) {
    return asker->ask(step);
  };
}

}  // namespace ruleengine::cli
