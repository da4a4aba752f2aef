#include "core/text/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/diagnostic.h"

namespace ruleengine::text {
namespace {

constexpr std::size_t kLongest = 64;  // no longer word is worth the search

// Letters to insert, delete or change on the way from one to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word,
                         std::span<const std::string_view> known) {
  if (word.size() > kLongest) return {};
  std::string_view best;
  std::size_t nearest = std::max<std::size_t>(1, (word.size() + 1) / 3) + 1;
  for (std::string_view k : known) {
    if (k.empty() || k.size() > kLongest) continue;
    const std::size_t d = distance(word, k);
    if (d >= nearest || d >= std::max(word.size(), k.size())) continue;
    nearest = d;
    best = k;
  }
  return best.empty() ? "" : "did you mean '" + printable(best) + "'?";
}

}  // namespace ruleengine::text
