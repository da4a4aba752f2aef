#include "bindings/lua/suggest.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "core/base/diagnostic.h"

namespace ruleengine::lua {
namespace {

// Longer words are not typing errors of anything; keeps the table small.
constexpr std::size_t kLongest = 64;

char folded(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Edits (insert, delete, change, swap of neighbours), case not counted.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1),
      next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + !same});
      if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
          folded(a[i - 2]) == folded(b[j - 1])) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > kLongest) return {};
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  const std::string* found = nullptr;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t edits = distance(word, candidate);
    if (edits < best) {
      best = edits;
      found = &candidate;
    }
  }
  return found == nullptr ? std::string() : *found;
}

std::string suggestion(std::string_view word,
                       std::span<const std::string> known) {
  if (std::string near = nearest(word, known); !near.empty()) {
    return "did you mean '" + printable(near) + "'?";
  }
  if (known.empty() || known.size() > 20) return {};
  std::string list = "known: ";
  for (const std::string& each : known) {
    if (&each != known.data()) list += ", ";
    list += printable(each);
  }
  return list;
}

}  // namespace ruleengine::lua
