// Lexer: splits ONNX text into tokens with places, with one token of
// look-ahead. Never reads outside the text, which must outlive it; tokens are
// views into it. Invalid input gives a kBad token whose `problem` says why. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"

namespace ruleengine::text {

enum class TokenKind : std::uint8_t {
  kEnd,
  kName,    // [A-Za-z_][A-Za-z0-9_]*
  kString,  // with its quotes
  kInt,
  kFloat,  // has a point or an exponent, or is -inf, -nan, -infinity
  kArrow,  // =>
  kDots,   // ...
  kMark,   // any other single character with a meaning
  kBad,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t at = 0;  // offset in the text
  std::string_view problem;

  bool is(char mark) const {
    return kind == TokenKind::kMark && text[0] == mark;
  }
};

bool is_identifier(std::string_view text);
// "inf", "infinity" or "nan" in any case.
bool is_float_word(std::string_view text);
// The content of a string token, without quotes and escapes (\xNN is a byte;
// any other backslash stands for the character after it).
std::string unquoted(std::string_view token);

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file)
      : text_(text), file_(file) {
    next_ = scan();
  }

  const Token& peek() const { return next_; }
  Token take() {
    const Token token = next_;
    next_ = scan();
    return token;
  }

  // "file:3:14" (or "line 3, column 14" without a file).
  std::string place(std::size_t at) const;
  std::string_view file() const { return file_; }

 private:
  Token scan();
  void skip_space();
  // From `from` to here.
  Token token(TokenKind kind, std::size_t from,
              std::string_view problem = {}) const;
  Token scan_string(std::size_t from);
  Token scan_number(std::size_t from);
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  std::string_view file_;
  std::size_t position_ = 0;
  Token next_;
};

}  // namespace ruleengine::text
