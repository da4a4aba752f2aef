// "Did you mean": which known word a mistyped one looks like, and how that is
// said. Everything that knows its words and is asked for another hints with
// these. Pure; any thread.
#ifndef RULEENGINE_CORE_BASE_SUGGEST_H_
#define RULEENGINE_CORE_BASE_SUGGEST_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ruleengine {

// Letters to insert, delete, change or swap with their neighbour; case is not
// counted. Takes time and memory by the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known`, the first of equals; "" when none is near enough.
std::string_view nearest(std::string_view word,
                         std::span<const std::string_view> known);

// "did you mean 'a' or 'b'?"; "" without names.
std::string did_you_mean(std::span<const std::string_view> names);

// "did you mean 'x'?", or what there is: "known: a, b, c", or "" when that is
// too much to list.
std::string suggestion(std::string_view word,
                       std::span<const std::string_view> known);
std::string suggestion(std::string_view word,
                       std::span<const std::string> known);

}  // namespace ruleengine

#endif  // RULEENGINE_CORE_BASE_SUGGEST_H_
