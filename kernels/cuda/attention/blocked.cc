#include "kernels/cuda/attention/blocked.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "kernels/cuda/attention/blocked_text.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;
constexpr std::size_t kMostLines = 1000;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

// A word of a condition; one that ends with < or > has a number behind it.
struct Word {
  std::string_view text;
  bool (*holds)(const AttentionDescription& d, const Chip& chip,
                std::int64_t number);
};
using D = const AttentionDescription&;
using C = const Chip&;
using N = std::int64_t;

constexpr Word kWords[] = {
    {"float16", [](D d, C, N) { return d.element == DataType::kFloat16; }},
    {"bfloat16", [](D d, C, N) { return d.element == DataType::kBfloat16; }},
    {"causal", [](D d, C, N) { return d.band.right == 0; }},
    {"bottom_right",
     [](D d, C, N) { return d.band.diagonal == Diagonal::kBottomRight; }},
    {"window", [](D d, C, N) { return d.band.left.has_value(); }},
    {"bias", [](D d, C, N) { return d.bias.has_value(); }},
    {"lengths", [](D d, C, N) { return d.has_lengths; }},
    {"paged", [](D d, C, N) { return d.paging.has_value(); }},
    {"ragged", [](D d, C, N) { return d.is_ragged; }},
    {"sink", [](D d, C, N) { return d.has_sink; }},
    {"cap", [](D d, C, N) { return d.has_cap; }},
    {"statistics", [](D d, C, N) { return d.has_statistics; }},
    {"decode", [](D d, C, N) { return d.q_length == 1; }},
    {"grouped", [](D d, C, N) { return d.q_heads != d.kv_heads; }},
    {"keys>", [](D d, C, N n) { return d.kv_length > n; }},
    {"queries>", [](D d, C, N n) { return d.q_length > n; }},
    {"size>", [](D d, C, N n) { return std::max(d.qk_size, d.v_size) > n; }},
    {"sm>", [](D, C c, N n) { return c.sm() > n; }},
    {"sm<", [](D, C c, N n) { return c.sm() < n; }}};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// What stands before `mark`, which is taken away with it; all of it without
// one.
std::string_view taken(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return out;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

// 9.14.0 as cudnn_version() tells it.
std::optional<std::int64_t> version_of(std::string_view text) {
  const auto major = number_of(taken(text, '.'));
  const auto minor = number_of(taken(text, '.'));
  const auto patch = number_of(text);
  if (!major || !minor || !patch || *major > 999 || *minor > 99 ||
      *patch > 99) {
    return std::nullopt;
  }
  return *major * 10000 + *minor * 100 + *patch;
}

}  // namespace

class BlockedReader {
 public:
  explicit BlockedReader(std::string_view name) : name_(name) {}

  Result<BlockedVersions> read(std::string_view text) {
    if (text.size() > kMostBytes) return bad("the file is too large", "");
    BlockedVersions out;
    while (!text.empty()) {
      ++number_;
      const std::string_view line = trimmed(taken(text, '\n'));
      if (line.empty() || line.front() == '#') continue;
      if (out.lines_.size() == kMostLines) return bad("too many lines", "");
      auto read = line_of(line);
      if (!read) return read.error();
      out.lines_.push_back(*std::move(read));
    }
    return out;
  }

 private:
  using Line = BlockedVersions::Line;

  Diagnostic bad(std::string what, std::string_view found) const {
    return {.kind = ErrorKind::kUsage,
            .what = std::move(what),
            .where = fmt::format("{}:{}", name_, number_),
            .expected = "versions | condition | reason",
            .found = found.empty() ? "" : quoted_name(found)};
  }

  Result<Line> line_of(std::string_view text) const {
    const std::string_view whole = text;
    const std::string_view versions = trimmed(taken(text, '|'));
    std::string_view condition = trimmed(taken(text, '|'));
    Line out;
    out.reason = trimmed(text);
    if (out.reason.empty() || condition.empty()) {
      return bad("a part of the line is missing", whole);
    }
    if (Status read = add_versions(versions, out); !read) return read.error();
    while (!condition.empty()) {
      const std::string_view word = taken(condition, ' ');
      if (word.empty() || word == "any") continue;
      if (Status read = add_condition(word, out); !read) return read.error();
    }
    return out;
  }

  Status add_versions(std::string_view text, Line& out) const {
    const std::string_view whole = text;
    const bool is_range = text.find('-') != std::string_view::npos;
    const std::string_view first = trimmed(taken(text, '-'));
    const std::string_view last = is_range ? trimmed(text) : first;
    const auto low =
        first.empty() ? std::optional<std::int64_t>(0) : version_of(first);
    const auto high = last.empty() ? kNoEnd : version_of(last);
    if (!low || !high || *low > *high || (first.empty() && last.empty())) {
      return bad("these are no versions", whole);
    }
    out.first = *low;
    out.last = *high;
    return {};
  }

  Status add_condition(std::string_view word, Line& out) const {
    const std::string_view whole = word;
    BlockedVersions::Condition condition{.holds = !word.starts_with('!')};
    if (!condition.holds) word.remove_prefix(1);
    const std::size_t mark = word.find_first_of("<>");
    if (mark != std::string_view::npos) {
      const auto number = number_of(word.substr(mark + 1));
      if (!number) return bad("a number is missing in a condition", whole);
      condition.number = *number;
      word = word.substr(0, mark + 1);
    }
    const auto* known = std::ranges::find(kWords, word, &Word::text);
    if (known == std::end(kWords)) return bad("no condition has this", whole);
    condition.word = static_cast<std::size_t>(known - kWords);
    out.conditions.push_back(condition);
    return {};
  }

  std::string name_;
  std::size_t number_ = 0;
};

const BlockedVersions& BlockedVersions::built_in() {
  static const BlockedVersions list =
      parse(kBlockedText, "blocked.txt").value();
  return list;
}

Result<BlockedVersions> BlockedVersions::parse(std::string_view text,
                                               std::string_view name) {
  return BlockedReader(name).read(text);
}

Result<BlockedVersions> BlockedVersions::read(const std::string& path) {
  // A pipe might never end.
  std::error_code none;
  const bool is_file = std::filesystem::is_regular_file(path, none);
  std::ifstream in(is_file ? path : "", std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the list of versions cannot be read",
                      .where = path};
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse(text, path);
}

std::optional<std::string> BlockedVersions::reason(
    const AttentionDescription& d, const Chip& chip,
    std::int64_t version) const {
  const auto holds = [&](const Condition& c) {
    return kWords[c.word].holds(d, chip, c.number) == c.holds;
  };
  for (const Line& line : lines_) {
    if (version < line.first || version > line.last) continue;
    if (std::ranges::all_of(line.conditions, holds)) return line.reason;
  }
  return std::nullopt;
}

}  // namespace ruleengine::kernels::cuda
