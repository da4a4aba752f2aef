#include "core/text/read/lexer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace ruleengine::text {
namespace {

// ASCII only: the result must not depend on the locale.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }

// Reads "x1b" at the front.
std::optional<char> hex_byte(std::string_view text) {
  unsigned byte = 0;
  if (text.size() < 3 || text[0] != 'x') return std::nullopt;
  const char* end = text.data() + 3;
  const auto [at, error] = std::from_chars(text.data() + 1, end, byte, 16);
  if (error != std::errc() || at != end) return std::nullopt;
  return static_cast<char>(byte);
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_alpha(text[0]) &&
         std::ranges::all_of(text, is_alnum);
}

bool is_float_word(std::string_view text) {
  std::string low(text.substr(0, 16));
  for (char& c : low) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return low == "inf" || low == "infinity" || low == "nan";
}

std::string unquoted(std::string_view token) {
  std::string out;
  const std::string_view inner = token.substr(1, token.size() - 2);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '\\' && i + 1 < inner.size()) {
      ++i;
      if (const auto byte = hex_byte(inner.substr(i))) {
        out += *byte;
        i += 2;
        continue;
      }
    }
    out += inner[i];
  }
  return out;
}

std::string Lexer::place(std::size_t at) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string column = std::to_string(before.size() - start + 1);
  if (file_.empty()) {
    return "line " + std::to_string(line) + ", column " + column;
  }
  return printable(file_) + ":" + std::to_string(line) + ":" + column;
}

void Lexer::skip_space() {
  while (position_ < text_.size()) {
    if (is_space(text_[position_])) {
      ++position_;
    } else if (text_[position_] == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

Token Lexer::token(TokenKind kind, std::size_t from,
                   std::string_view problem) const {
  return {kind, text_.substr(from, position_ - from), from, problem};
}

Token Lexer::scan() {
  skip_space();
  const std::size_t from = position_;
  const char c = at(from);
  if (from >= text_.size()) return token(TokenKind::kEnd, from);
  if (is_alpha(c)) {
    while (is_alnum(at(position_))) ++position_;
    return token(TokenKind::kName, from);
  }
  if (c == '"') return scan_string(from);
  if (is_digit(c) || c == '-') return scan_number(from);
  if (text_.substr(from, 2) == "=>") {
    position_ += 2;
    return token(TokenKind::kArrow, from);
  }
  if (text_.substr(from, 3) == "...") {
    position_ += 3;
    return token(TokenKind::kDots, from);
  }
  ++position_;
  if (std::string_view("<>()[]{}=,:.?@").find(c) == std::string_view::npos) {
    return token(TokenKind::kBad, from, "an unexpected character");
  }
  return token(TokenKind::kMark, from);
}

Token Lexer::scan_string(std::size_t from) {
  for (++position_; position_ < text_.size(); ++position_) {
    if (text_[position_] == '\\') {
      ++position_;
    } else if (text_[position_] == '"') {
      ++position_;
      return token(TokenKind::kString, from);
    }
  }
  position_ = text_.size();
  return token(TokenKind::kBad, from, "a string without an end");
}

Token Lexer::scan_number(std::size_t from) {
  if (at(position_) == '-') ++position_;
  if (is_alpha(at(position_))) {
    while (is_alnum(at(position_))) ++position_;
    const bool word =
        is_float_word(text_.substr(from + 1, position_ - from - 1));
    return word ? token(TokenKind::kFloat, from)
                : token(TokenKind::kBad, from, "not a number");
  }
  if (!is_digit(at(position_)))
    return token(TokenKind::kBad, from, "not a number");
  bool real = false;
  while (is_digit(at(position_))) ++position_;
  if (at(position_) == '.' && at(position_ + 1) != '.') {
    real = true;
    ++position_;
    while (is_digit(at(position_))) ++position_;
  }
  if (at(position_) == 'e' || at(position_) == 'E') {
    real = true;
    ++position_;
    if (at(position_) == '+' || at(position_) == '-') ++position_;
    if (!is_digit(at(position_)))
      return token(TokenKind::kBad, from, "an exponent without digits");
    while (is_digit(at(position_))) ++position_;
  }
  if (is_alpha(at(position_))) {
    while (is_alnum(at(position_))) ++position_;
    return token(TokenKind::kBad, from, "not a number");
  }
  return token(real ? TokenKind::kFloat : TokenKind::kInt, from);
}

}  // namespace ruleengine::text
