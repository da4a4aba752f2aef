// What selected nodes read, and the names that values have in a draft. Internal
// to bindings/lua/draft.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/draft/selection.h"
#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "core/ops/newest_nodes.h"

namespace ruleengine::lua {

// A value that the nodes read and do not compute.
struct Source {
  ir::ValueId value;
  std::string name;
  const ir::Literal* constant = nullptr;  // if it is known
  std::string literal;                    // a small one, as Lua; else ""
  bool prefers = true;                    // the literal, where it may have it
  // False for what only the newest form of a node reads, such as axes that are
  // an attribute in the model.
  bool is_stored = false;
  // Whether an example has it as a constant, if it has it: types follow from
  // small integers.
  bool is_shown = false;
  const ir::Type* type = nullptr;  // of an input of the example

  bool is_input() const { return is_stored && !is_shown; }
  // Whether the pattern has it as a literal, where those are wanted.
  bool is_literal(bool literals) const {
    return !literal.empty() && ((literals && prefers) || !is_stored);
  }
};

// Names of Lua that are unlike all others in the file.
class FreshNames {
 public:
  FreshNames();
  // `stem`, or with a number; "v" for one that is no name.
  std::string take(std::string_view stem);

 private:
  std::set<std::string, std::less<>> taken_;
};

// In the order in which nodes read them. kUsage if there are too many, or if
// the type of an input is not known.
Result<std::vector<Source>> sources_of(ir::Model& model,
                                       ops::NewestNodes& newest,
                                       const Selection& selection,
                                       FreshNames& names);

std::string in_small_letters(std::string_view text);

}  // namespace ruleengine::lua
