// Ops of strings, which are UTF-8.
#include <re2/re2.h>
#include <unicase.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_set>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/grams.h"

namespace ruleengine::kernels {
namespace {

using runtime::Adapt;
using runtime::Kernel;

const Tensor& strings(KernelContext& c, std::size_t i) {
  const Tensor& x = c.input(i);
  if (!x.is_string()) fail("the input has no strings", "string", x.text());
  return x;
}

void concat(KernelContext& c) {
  const Tensor a = strings(c, 0), b = strings(c, 1);
  const Dims dims = broadcast(a.dims(), b.dims());
  Tensor& out = c.output(0, DataType::kString, {dims.data(), dims.size()});
  if (out.count() == 0) return;
  const Rows<2> rows(out.dims(), {broadcast_strides(a.dims(), out.dims()),
                                  broadcast_strides(b.dims(), out.dims())});
  std::string* to = mutable_elements<std::string>(out);
  rows.for_each(0, rows.count(), [&](std::int64_t at, const auto& from) {
    const std::string* p = elements<std::string>(a) + from[0];
    const std::string* q = elements<std::string>(b) + from[1];
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      to[at + i] = p[i * rows.inner(0)] + q[i * rows.inner(1)];
    }
  });
}

enum class Case { kKeep, kLower, kUpper };

// By Unicode's full mapping, which may lengthen the text. `language` has its
// own rules for some letters; "" for none.
std::string in_case(const std::string& text, Case to,
                    const std::string& language) {
  if (to == Case::kKeep || text.empty()) return text;
  auto* const map = to == Case::kLower ? u8_tolower : u8_toupper;
  std::size_t size = 0;
  const std::unique_ptr<std::uint8_t, decltype(&std::free)> mapped(
      map(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
          language.empty() ? nullptr : language.c_str(), nullptr, nullptr,
          &size),
      std::free);
  if (mapped == nullptr) fail("a text is not UTF-8", {}, printable(text));
  return {reinterpret_cast<const char*>(mapped.get()), size};
}

void normalizer(KernelContext& c) {
  const Tensor x = strings(c, 0);
  if (x.rank() != 1 && !(x.rank() == 2 && x.dim(0) == 1)) {
    fail("the input has another shape", "[C] or [1,C]", x.text());
  }
  const std::string_view action = c.attribute_string("case_change_action");
  if (action != "NONE" && action != "LOWER" && action != "UPPER" &&
      !action.empty()) {
    fail("attribute 'case_change_action' has another value",
         "NONE, LOWER or UPPER", std::string(action));
  }
  const Case to = action == "LOWER"   ? Case::kLower
                  : action == "UPPER" ? Case::kUpper
                                      : Case::kKeep;
  const bool by_case = c.attribute_flag("is_case_sensitive");
  // "tr" of "tr_TR.UTF-8".
  const std::string locale(c.attribute_string("locale"));
  const std::string language = locale.substr(0, locale.find_first_of("_-."));
  const auto key = [&](const std::string& word) {
    return by_case ? word : in_case(word, Case::kLower, language);
  };
  std::unordered_set<std::string> stopped;
  for (const std::string& word : c.attribute_strings("stopwords")) {
    stopped.insert(key(word));
  }
  std::vector<std::string> kept;
  for (const std::string& word : x.strings()) {
    if (!stopped.contains(key(word))) {
      kept.push_back(in_case(word, to, language));
    }
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims(x.dims());
  dims.back() = static_cast<std::int64_t>(kept.size());
  Tensor& out = c.output(0, DataType::kString, {dims.data(), dims.size()});
  out.mutable_strings() = std::move(kept);
}

bool is_space(char ch) {
  return ch == ' ' || (ch >= '\t' && ch <= '\r') || (ch >= 0x1c && ch <= 0x1f);
}

// At runs of spaces; those at either end belong to no part.
std::vector<std::string> split_at_spaces(const std::string& text,
                                         std::size_t most) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && is_space(text[at])) ++at;
  };
  for (skip(); at < text.size(); skip()) {
    if (parts.size() == most) {
      std::size_t end = text.size();
      while (end > at && is_space(text[end - 1])) --end;
      parts.push_back(text.substr(at, end - at));
      break;
    }
    const std::size_t begin = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    parts.push_back(text.substr(begin, at - begin));
  }
  return parts;
}

std::vector<std::string> split_at(const std::string& text,
                                  const std::string& delimiter,
                                  std::size_t most) {
  if (delimiter.empty()) return split_at_spaces(text, most);
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (parts.size() < most) {
    const std::size_t end = text.find(delimiter, begin);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

void split(KernelContext& c) {
  const Tensor x = strings(c, 0);
  const std::string delimiter(c.attribute_string("delimiter"));
  const std::int64_t said =
      c.has_attribute("maxsplit") ? c.attribute_int("maxsplit") : -1;
  const std::size_t most =
      said < 0 ? std::string::npos - 1 : static_cast<std::size_t>(said);
  std::vector<std::vector<std::string>> all;
  std::size_t longest = 0;
  for (const std::string& text : x.strings()) {
    all.push_back(split_at(text, delimiter, most));
    longest = std::max(longest, all.back().size());
  }
  Dims dims(x.dims());
  dims.push_back(static_cast<std::int64_t>(longest));
  Tensor& out = c.output(0, DataType::kString, {dims.data(), dims.size()});
  auto& to = out.mutable_strings();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < all[i].size(); ++k) {
      to[i * longest + k] = std::move(all[i][k]);
    }
  }
  if (!c.wants(1)) return;
  auto* counts =
      c.output(1, DataType::kInt64, x.dims()).mutable_data<std::int64_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    counts[i] = static_cast<std::int64_t>(all[i].size());
  }
}

void regex_full_match(KernelContext& c) {
  const Tensor x = strings(c, 0);
  const std::string pattern(c.attribute_string("pattern"));
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 regex(pattern, options);
  if (!regex.ok()) {
    fail("the pattern is not a regular expression in the syntax of RE2", {},
         printable(pattern) + ", " + regex.error());
  }
  Tensor& out = c.output(0, DataType::kBool, x.dims());
  bool* to = out.mutable_data<bool>();
  c.threads().for_each(x.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      to[i] = RE2::FullMatch(x.strings()[static_cast<std::size_t>(i)], regex);
    }
  });
}

constexpr Kernel kRows[] = {
    {"", "RegexFullMatch", regex_full_match},   {"", "StringConcat", concat},
    {"", "StringNormalizer", normalizer},       {"", "StringSplit", split},
    {"", "TfIdfVectorizer", tf_idf_vectorizer},
};

}  // namespace

KernelRows string_kernels() { return kRows; }

}  // namespace ruleengine::kernels
