#include "bindings/lua/load/rule_file_scan.h"

#include <algorithm>

#include "bindings/lua/words/words.h"

namespace ruleengine::lua {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 128;
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

// Splits text into tokens.
class SourceReader {
 public:
  SourceReader(std::string_view text, SourceScan& scan)
      : text_(text), scan_(scan) {}

  void read() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    scan_.tokens_.reserve(text_.size() / 4);
    if (peek() == '#') skip_line();
    while (skip_spaces(), at_ < text_.size()) token();
    add(Kind::kEnd, {});
  }

 private:
  using Kind = SourceScan::Kind;

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void add(Kind kind, std::string_view text) {
    scan_.tokens_.push_back({.kind = kind, .text = text, .line = line_});
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void skip_spaces() {
    at_ = std::min(text_.find_first_not_of(" \t\r\f\v", at_), text_.size());
  }

  void token() {
    const char c = peek();
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == '-' && peek(1) == '-') {
      at_ += 2;
      if (!long_string(false)) skip_line();
    } else if (c == '[' && (peek(1) == '[' || peek(1) == '=')) {
      if (!long_string(true)) symbol();
    } else if (c == '"' || c == '\'') {
      quoted_name(c);
    } else if (is_letter(c)) {
      const std::size_t begin = at_;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      const std::string_view name = text_.substr(begin, at_ - begin);
      add(is_lua_keyword(name) ? Kind::kKeyword : Kind::kName, name);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else {
      symbol();
    }
  }

  // Reads [[...]] or [=[...]=] at the current position.
  bool long_string(bool keep) {
    std::size_t level = 0;
    if (peek() != '[') return false;
    while (peek(1 + level) == '=') ++level;
    if (peek(1 + level) != '[') return false;
    const std::string close = "]" + std::string(level, '=') + "]";
    const std::size_t begin = at_ + level + 2;
    const std::size_t end = std::min(text_.find(close, begin), text_.size());
    const std::string_view body =
        begin <= end ? text_.substr(begin, end - begin) : std::string_view();
    if (keep) {
      add(Kind::kString, body);
      scan_.tokens_.back().quotes = static_cast<std::uint32_t>(level + 2);
    }
    line_ += static_cast<int>(std::count(body.begin(), body.end(), '\n'));
    at_ = std::min(end + close.size(), text_.size());
    return true;
  }

  void quoted_name(char quote) {
    const std::size_t begin = ++at_;
    const int line = line_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') ++at_;
      if (peek() == '\n') ++line_;
      ++at_;
    }
    const std::size_t end = std::min(at_, text_.size());
    scan_.tokens_.push_back({.kind = Kind::kString,
                             .text = text_.substr(begin, end - begin),
                             .line = line,
                             .quotes = 1});
    ++at_;
  }

  void number() {
    const std::size_t begin = at_;
    const bool hex = peek() == '0' && lower(peek(1)) == 'x';
    while (is_digit(peek()) || is_letter(peek()) || peek() == '.') {
      const char exponent = hex ? 'p' : 'e';
      const bool sign =
          lower(peek()) == exponent && (peek(1) == '+' || peek(1) == '-');
      at_ += sign ? 2 : 1;
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    const char last = lower(text.back());
    if ((last == 'l' || last == 'i') && scan_.foreign_literal_line_ == 0) {
      scan_.foreign_literal_line_ = line_;
    }
    add(Kind::kNumber, text);
  }

  void symbol() {
    const char next = peek(1);  // nearly always of the next token
    const bool may_be_long = next == '.' || next == '=' || next == ':';
    for (const std::string_view longest :
         {"...", "..", "==", "~=", "<=", ">=", "::"}) {
      if (may_be_long && text_.substr(at_).starts_with(longest)) {
        add(Kind::kSymbol, text_.substr(at_, longest.size()));
        at_ += longest.size();
        return;
      }
    }
    add(Kind::kSymbol, text_.substr(at_++, 1));
  }

  std::string_view text_;
  SourceScan& scan_;
  std::size_t at_ = 0;
  int line_ = 1;
};

SourceScan::SourceScan(std::string_view text) : text_(text) {
  SourceReader(text, *this).read();
  link_brackets();
  find_functions();
}

void SourceScan::link_brackets() {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Kind::kSymbol || tokens_[i].text.size() != 1) {
      continue;
    }
    const char c = tokens_[i].text.front();
    if (c == '{' || c == '(' || c == '[') {
      open.push_back(i);
    } else if ((c == '}' || c == ')' || c == ']') && !open.empty()) {
      tokens_[open.back()].after = i + 1;
      open.pop_back();
    }
  }
  for (const std::size_t i : open) tokens_[i].after = tokens_.size();
}

void SourceScan::find_functions() {
  struct Block {
    bool function;
    std::size_t index;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Kind::kKeyword) continue;
    if (is(i, "if") || is(i, "do") || is(i, "repeat")) {
      blocks.push_back({false, 0});
    } else if (is(i, "end") || is(i, "until")) {
      if (blocks.empty()) continue;
      if (blocks.back().function) {
        Function& function = functions_[blocks.back().index];
        function.end = i;
        tokens_[function.word].after = i + 1;
      }
      blocks.pop_back();
    } else if (is(i, "function")) {
      Function function{.word = i, .line = tokens_[i].line};
      if (i >= 2 && is(i - 1, "=")) function.key = tokens_[i - 2].text;
      std::size_t next = i + 1;
      while (next < tokens_.size() && !is(next, "(")) ++next;
      for (++next; next < tokens_.size() && !is(next, ")"); ++next) {
        if (!is(next, ",")) function.parameters.push_back(tokens_[next].text);
      }
      function.begin = function.end = next + 1;
      blocks.push_back({true, functions_.size()});
      functions_.push_back(std::move(function));
      i = next;
    }
  }
}

// --- tables ---

// The token after the brace of `word { ... }`; 0: none.
std::size_t SourceScan::table_of(std::string_view word) const {
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (tokens_[i].kind != Kind::kName || tokens_[i].text != word) continue;
    if (i > 0 && (is(i - 1, ".") || is(i - 1, ":"))) continue;
    std::size_t next = is(i + 1, "(") ? i + 2 : i + 1;
    // rule(tree.rule { ... }): a function of a lib that takes the same keys.
    if (next == i + 2 && is(next + 1, ".") && at(next + 2).text == word) {
      next += 3;
    }
    if (is(next, "{")) return next + 1;
  }
  return 0;
}

// The first token of the value of `key` in that table; 0: none.
std::size_t SourceScan::key_value(std::string_view word,
                                  std::string_view key) const {
  const std::size_t table = table_of(word);
  if (table == 0) return 0;
  for (std::size_t i = table; i < tokens_.size();) {
    if (is(i, "}")) return 0;
    const bool starts = i == table || is(i - 1, ",") || is(i - 1, ";");
    if (starts && tokens_[i].kind == Kind::kName && tokens_[i].text == key &&
        is(i + 1, "=")) {
      return i + 2;
    }
    i = skip(i);
  }
  return 0;
}

bool SourceScan::mentions(std::string_view name) const {
  return std::ranges::any_of(tokens_, [&](const Token& token) {
    return token.kind == Kind::kName && token.text == name;
  });
}

int SourceScan::word_line(std::string_view word) const {
  std::size_t i = table_of(word);
  if (i == 0) return 0;
  while (i > 0 && tokens_[i].text != word) --i;
  return tokens_[i].line;
}

int SourceScan::key_line(std::string_view word, std::string_view key) const {
  const std::size_t value = key_value(word, key);
  return value == 0 ? 0 : tokens_[value - 2].line;
}

int SourceScan::entry_line(std::string_view word, std::string_view key,
                           std::string_view name) const {
  std::size_t i = list_of(word, key);
  if (i == 0) return 0;
  for (; i < tokens_.size() && !is(i, "}"); i = skip(i)) {
    const Token& entry = at(i + 1);
    if (is(i, "[") && entry.kind == Kind::kString && entry.text == name) {
      return entry.line;
    }
  }
  return 0;
}

std::size_t SourceScan::list_of(std::string_view word,
                                std::string_view key) const {
  if (key.empty()) return table_of(word);
  const std::size_t value = key_value(word, key);
  return value != 0 && is(value, "{") ? value + 1 : 0;
}

SourceScan::Place SourceScan::last_string(std::size_t table) const {
  Place out;
  if (!is(table, "{")) return out;
  bool fresh = true;
  for (std::size_t i = table + 1; i < tokens_.size() && !is(i, "}");) {
    const bool is_element = fresh && !is(i + 1, "=") && !is(i, "[");
    fresh = is(i, ",") || is(i, ";");
    const Token& token = tokens_[i];
    i = skip(i);
    if (!is_element) continue;
    const bool is_alone = is(i, ",") || is(i, ";") || is(i, "}");
    out = {};
    if (token.kind != Kind::kString || !is_alone) continue;
    const auto begin =
        static_cast<std::size_t>(token.text.data() - text_.data());
    out = {begin - token.quotes, begin + token.text.size() + token.quotes};
  }
  return out;
}

std::vector<std::size_t> SourceScan::elements(std::string_view word,
                                              std::string_view key) const {
  std::vector<std::size_t> found;
  std::size_t i = list_of(word, key);
  if (i == 0) return found;
  for (bool fresh = true; i < tokens_.size() && !is(i, "}");) {
    if (fresh && !is(i + 1, "=")) found.push_back(i);
    fresh = is(i, ",") || is(i, ";");
    i = skip(i);
  }
  return found;
}

std::vector<SourceScan::Place> SourceScan::last_strings(
    std::string_view word, std::string_view key) const {
  std::vector<Place> places;
  for (const std::size_t i : elements(word, key)) {
    places.push_back(last_string(i));
  }
  return places;
}

std::vector<int> SourceScan::element_lines(std::string_view word,
                                           std::string_view key) const {
  std::vector<int> lines;
  for (const std::size_t i : elements(word, key)) {
    lines.push_back(tokens_[i].line);
  }
  return lines;
}

}  // namespace ruleengine::lua
