// "Did you mean": which known word a mistyped word resembles, and the hint that
// says so. Every part that rejects an unknown name makes its hint here. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ruleengine {

// The number of letters to insert, delete, change or swap with their neighbour;
// case is ignored. Takes time and memory by the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known` (the first one on a tie); "" when none is near enough.
std::string_view nearest(std::string_view word,
                         std::span<const std::string_view> known);

// "did you mean 'a' or 'b'?"; "" without names.
std::string did_you_mean(std::span<const std::string_view> names);

// "did you mean 'x'?" where a known word is near; else the list "known: a, b,
// c"; "" when the list would be too long.
std::string suggestion(std::string_view word,
                       std::span<const std::string_view> known);
std::string suggestion(std::string_view word,
                       std::span<const std::string> known);

}  // namespace ruleengine
