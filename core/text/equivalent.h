// Whether two models say the same, up to what a reader would not call a
// difference: names of values and nodes, the order of nodes and of the inputs
// of commutative ops, attributes left at their default, constants as
// initializers or as Constant nodes, absent inputs at the end, unread optional
// outputs, unused constants and functions, versions of opsets. Graph inputs
// and outputs count by position, name and declared type, constants by bits,
// and how often an equal node occurs counts as well. Judges rule examples and
// tests. Reads only; linear but for sorting.
#ifndef RULEENGINE_CORE_TEXT_EQUIVALENT_H_
#define RULEENGINE_CORE_TEXT_EQUIVALENT_H_

#include <optional>
#include <string>

#include "core/ir/model.h"

namespace ruleengine::text {

// What differs, in one line; none when nothing does.
std::optional<std::string> difference(const ir::Model& expected,
                                      const ir::Model& found);

// The same as a question; `difference` may be nullptr.
bool equivalent(const ir::Model& expected, const ir::Model& found,
                std::string* difference);

}  // namespace ruleengine::text

#endif  // RULEENGINE_CORE_TEXT_EQUIVALENT_H_
