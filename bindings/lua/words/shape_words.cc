#include "bindings/lua/words/shape_words.h"

#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

namespace ruleengine::lua {
namespace {

struct Word {
  enum class Kind { kAny, kNumber, kLetter } kind = Kind::kAny;
  std::int64_t number = 0;
  std::string_view letter;
};

struct Text {
  bool ellipsis = false;
  std::vector<Word> words;
};

bool is_name(std::string_view word) {
  if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return false;
  for (char c : word) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') {
      return false;
    }
  }
  return true;
}

std::optional<Word> read_word(std::string_view word) {
  if (word == "_") return Word{};
  std::int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && stop == end && number >= 0) {
    return Word{.kind = Word::Kind::kNumber, .number = number};
  }
  if (!is_name(word)) return std::nullopt;
  return Word{.kind = Word::Kind::kLetter, .letter = word};
}

std::optional<Text> parse(Host& host, std::string_view text) {
  Text out;
  std::string_view rest = text;
  while (true) {
    const std::size_t begin = rest.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return out;
    rest.remove_prefix(begin);
    const std::size_t size = std::min(rest.find_first_of(" \t\n"), rest.size());
    const std::string_view word = rest.substr(0, size);
    rest.remove_prefix(size);
    if (word == "..." && out.words.empty() && !out.ellipsis) {
      out.ellipsis = true;
      continue;
    }
    const std::optional<Word> read = read_word(word);
    if (!read) {
      fail(host, quoted_name(word, 60) + " is not a dimension of a shape",
           "letters, numbers, '_', and '...' in front", quoted_name(text, 100));
      return std::nullopt;
    }
    out.words.push_back(*read);
  }
}

class Test {
 public:
  Test(Host& host, lua_State* state, ShapeTest test)
      : host_(host), state_(state), test_(test) {}

  bool run(const Dims& dims, const Text& text) {
    const std::size_t rank = dims.size();
    const std::size_t words = text.words.size();
    const bool shorter = test_ == ShapeTest::kFits;
    if (rank > words && !text.ellipsis) return false;
    if (rank < words && !shorter) return false;
    for (std::size_t i = 0; i < std::min(rank, words); ++i) {
      if (!one(dims[rank - 1 - i], text.words[words - 1 - i])) return false;
    }
    return true;
  }

 private:
  bool one(ir::Dim dim, const Word& word) {
    if (test_ == ShapeTest::kFits && dim == ir::Dim(1)) return true;
    if (word.kind == Word::Kind::kAny) return true;
    if (word.kind == Word::Kind::kNumber) return dim == ir::Dim(word.number);
    if (auto bound = bound_dim(host_, state_, word.letter))
      return dim == *bound;
    for (const auto& [letter, seen] : letters_) {
      if (letter == word.letter) return dim == seen;
    }
    letters_.emplace_back(word.letter, dim);
    return true;
  }

  Host& host_;
  lua_State* state_;
  ShapeTest test_;
  std::vector<std::pair<std::string_view, ir::Dim>> letters_;
};

}  // namespace

std::optional<Dims> dims_of(Host& host, const Handle& value) {
  const ir::Type* type = host.session.facts->type(value.value());
  if (!ir::is_ranked(type)) return std::nullopt;
  return Dims{.dims = type->dims, .reversed = value.transposed};
}

std::optional<bool> holds(Host& host, lua_State* state, const Dims& dims,
                          std::string_view text, ShapeTest test) {
  const std::optional<Text> parsed = parse(host, text);
  if (!parsed) return std::nullopt;
  return Test(host, state, test).run(dims, *parsed);
}

}  // namespace ruleengine::lua
