#include "core/base/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/diagnostic.h"

namespace ruleengine {
namespace {

// Longer words are not typing errors; the limit keeps the table small.
constexpr std::size_t kLongest = 64;
// Nobody reads longer lists.
constexpr std::size_t kMostListed = 20;

// Not std::tolower, which depends on the locale.
char folded(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string listed(std::span<const std::string_view> known) {
  if (known.empty() || known.size() > kMostListed) return {};
  std::string list;
  for (std::string_view each : known) {
    list += (list.empty() ? "known: " : ", ") + printable(each);
  }
  return list;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1),
      next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
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

std::string_view nearest(std::string_view word,
                         std::span<const std::string_view> known) {
  if (word.size() > kLongest) return {};
  std::size_t least = std::max<std::size_t>(1, (word.size() + 1) / 3) + 1;
  std::string_view found;
  for (std::string_view each : known) {
    if (each.empty() || each.size() > kLongest) continue;
    const std::size_t edits = edit_distance(word, each);
    // A word that shares no letter is not near, however short both are.
    if (edits >= least || edits >= std::max(word.size(), each.size())) continue;
    least = edits;
    found = each;
  }
  return found;
}

std::string did_you_mean(std::span<const std::string_view> names) {
  std::string out;
  for (std::string_view name : names) {
    out += (out.empty() ? "did you mean '" : " or '") + printable(name) + "'";
  }
  return out.empty() ? out : out + "?";
}

std::string suggestion(std::string_view word,
                       std::span<const std::string_view> known) {
  const std::string_view near = nearest(word, known);
  return near.empty() ? listed(known) : did_you_mean({&near, 1});
}

std::string suggestion(std::string_view word,
                       std::span<const std::string> known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return suggestion(word, std::span<const std::string_view>(views));
}

}  // namespace ruleengine
