// Ops of strings, which are UTF-8.
#include <re2/re2.h>
#include <unicase.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <unordered_set>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

const Tensor& strings(Call& c, std::size_t i) {
  return c.expect_type(i, DataType::kString);
}

void string_concat(Call& c) {
  const Tensor a = strings(c, 0), b = strings(c, 1);
  const Dims dims = broadcast(a.dims(), b.dims());
  Tensor& out = c.output(0, DataType::kString, dims);
  if (out.count() == 0) return;
  const Rows<2> rows(out.dims(), {broadcast_strides(a.dims(), out.dims()),
                                  broadcast_strides(b.dims(), out.dims())});
  String* to = mutable_elements<String>(out);
  Ticker tick(c.threads());
  rows.for_each(0, rows.count(), [&](std::int64_t at, const auto& from) {
    const String* p = elements<String>(a) + from[0];
    const String* q = elements<String>(b) + from[1];
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      tick();
      const String& first = p[i * rows.inner(0)];
      const String& second = q[i * rows.inner(1)];
      to[at + i].reserve(first.size() + second.size());
      to[at + i].append(first).append(second);
    }
  });
}

enum class Case { kKeep, kLower, kUpper };

// By Unicode's full mapping, which may lengthen the text. `language` has its
// own rules for some letters; it may be "".
std::string in_case(std::string_view text, Case to,
                    const std::string& language) {
  if (to == Case::kKeep || text.empty()) return std::string(text);
  auto* const map = to == Case::kLower ? u8_tolower : u8_toupper;
  std::size_t size = 0;
  const std::unique_ptr<std::uint8_t, decltype(&std::free)> mapped(
      map(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
          language.empty() ? nullptr : language.c_str(), nullptr, nullptr,
          &size),
      std::free);
  if (mapped == nullptr) {
    if (errno != EILSEQ) throw std::bad_alloc();
    fail("wrong encoding of a string", "UTF-8", printable(text));
  }
  return {reinterpret_cast<const char*>(mapped.get()), size};
}

class StringNormalizer {
 public:
  explicit StringNormalizer(const Preparation& p);
  void operator()(Call& c) const;

 private:
  // Equal for words that are stopped alike.
  std::string key(std::string_view word) const {
    return in_case(word, by_case_ ? Case::kKeep : Case::kLower, language_);
  }

  Case to_;
  bool by_case_;
  std::string language_;
  std::unordered_set<std::string> stopped_;
};

StringNormalizer::StringNormalizer(const Preparation& p)
    : to_(choice_of<Case>(p, "case_change_action",
                          {"NONE", "LOWER", "UPPER", ""})),
      by_case_(p.attribute_flag("is_case_sensitive")) {
  // "tr" of "tr_TR.UTF-8".
  const std::string_view locale = p.attribute_string("locale");
  language_ = locale.substr(0, locale.find_first_of("_-."));
  for (const std::string& word : p.attribute_strings("stopwords")) {
    stopped_.insert(key(word));
  }
}

void StringNormalizer::operator()(Call& c) const {
  const Tensor x = strings(c, 0);
  if (x.rank() != 1 && !(x.rank() == 2 && x.dim(0) == 1)) {
    c.wrong_shape(0, "[?] or [1,?]");
  }
  std::vector<const String*> kept;
  Ticker tick(c.threads());
  for (const String& word : x.strings()) {
    tick();
    if (!stopped_.contains(key(word))) kept.push_back(&word);
  }
  Dims dims(x.dims());
  dims.back() = std::max<std::int64_t>(1, std::ssize(kept));
  Tensor& out = c.output(0, DataType::kString, dims);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    tick();
    out.mutable_strings()[i] = in_case(*kept[i], to_, language_);
  }
}

bool is_space(char ch) {
  return ch == ' ' || (ch >= '\t' && ch <= '\r') || (ch >= 0x1c && ch <= 0x1f);
}

// Calls `take` with each part of a text that is split at runs of spaces: at
// most `most`, and the rest. Spaces at either end belong to no part.
template <typename Take>
void split_at_spaces(std::string_view text, std::size_t most,
                     const Take& take) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (true) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty()) return;
    const auto end = std::ranges::find_if(text, is_space) - text.begin();
    const std::size_t size = most-- == 0 ? text.size() : index_of(end);
    take(text.substr(0, size));
    text.remove_prefix(size);
  }
}

template <typename Take>
void split_at(std::string_view text, std::string_view delimiter,
              std::size_t most, const Take& take) {
  if (delimiter.empty()) return split_at_spaces(text, most, take);
  for (; most > 0; --most) {
    const std::size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    take(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  take(text);
}

void string_split(Call& c, std::string_view delimiter, std::size_t most) {
  const Tensor x = strings(c, 0);
  Ticker tick(c.threads());
  Ints counts;
  std::int64_t longest = 0;
  for (const String& text : x.strings()) {
    std::int64_t count = 0;
    split_at(text, delimiter, most, [&](std::string_view) {
      tick();
      ++count;
    });
    counts.push_back(count);
    longest = std::max(longest, count);
  }
  Dims dims(x.dims());
  dims.push_back(longest);
  Tensor& out = c.output(0, DataType::kString, dims);
  String* row = out.mutable_strings().data();
  for (const String& text : x.strings()) {
    String* to = row;
    split_at(text, delimiter, most, [&](std::string_view part) {
      tick();
      *to++ = part;
    });
    row += longest;
  }
  if (!c.wants(1)) return;
  Tensor& sizes = c.output(1, DataType::kInt64, x.dims());
  std::ranges::copy(counts, sizes.mutable_data<std::int64_t>());
}

Op string_split(const Preparation& p) {
  const std::int64_t said = p.attribute_int("maxsplit", -1);
  const std::size_t most = said < 0 ? std::string::npos : index_of(said);
  return [delimiter = p.attribute_string("delimiter"), most](Call& c) {
    string_split(c, delimiter, most);
  };
}

void regex_full_match(Call& c, const RE2& regex) {
  const Tensor x = strings(c, 0);
  Tensor& out = c.output(0, DataType::kBool, x.dims());
  bool* to = out.mutable_data<bool>();
  c.threads().for_each_index(x.count(), 1, [&](std::int64_t i) {
    const String& text = x.strings()[index_of(i)];
    const re2::StringPiece piece(text.data(), text.size());
    to[i] = RE2::FullMatch(piece, regex);
  });
}

Op regex_full_match(const Preparation& p) {
  const std::string pattern(p.attribute_string("pattern"));
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<const RE2>(pattern, options);
  if (!regex->ok()) {
    p.wrong_attribute("pattern", "a regular expression in the syntax of RE2",
                      printable(pattern) + ", " + regex->error());
  }
  return [regex = std::move(regex)](Call& c) { regex_full_match(c, *regex); };
}

}  // namespace

const KernelRows kStringRows = {
    {"", "RegexFullMatch", regex_full_match},
    {"", "StringConcat", string_concat},
    {"", "StringNormalizer", prepared<StringNormalizer>},
    {"", "StringSplit", string_split},
    {"", "TfIdfVectorizer", tf_idf_vectorizer},
};

}  // namespace ruleengine::kernels
