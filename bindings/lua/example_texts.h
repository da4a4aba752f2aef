// The expected graphs of examples, as texts of a rule file: what a rule made in
// place of what was expected. Pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

// The nodes of `found`, which a rule made of `before`, as the third entry of an
// example lists them; a whole graph where nodes alone do not say it. None: no
// text gives an equivalent graph. `before_text` is what `before` was read from.
std::optional<std::string> expected_text(const ir::Model& before,
                                         std::string_view before_text,
                                         const ir::Model& found);

// An entry of `examples` with this graph, that expects what a rule that leaves
// it alone does.
std::string left_alone_example(
    std::string_view title, std::string_view before,
    const std::map<std::string, OptionValue>& options, bool is_lint);

struct NewText {
  std::size_t example = 0;  // its place among the examples of the rule
  std::string text;
  bool written = false;  // false: the old text is not written as one string
};
// A rule file with these texts in place of the old ones; all other bytes stay.
std::string with_new_texts(std::string_view source,
                           std::vector<NewText>& texts);

}  // namespace ruleengine::lua
