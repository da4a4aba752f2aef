// Reads pages under docs/: headings, paragraphs, items of lists and rows of
// tables, and what they say of the words of the table. Code in blocks is left
// out.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/lua/reference.h"

namespace ruleengine::lua {

struct Block {
  enum class Kind : std::uint8_t { kText, kItem, kRow };
  Kind kind = Kind::kText;
  std::string heading;
  std::string form;  // the first cell of a row; else ""
  std::string text;  // of a row: the second cell
};
std::vector<Block> read_page(std::string_view page);

// The words that the block defines: those that its first cell, or the code at
// its beginning, is about. "`:rank()`, `:rank(4)`" defines "rank".
std::vector<std::string_view> defined_words(const Block& block);
// Whether code in the block names the word.
bool mentions(const Block& block, std::string_view word);

// Without the marks of bold text and links.
std::string plain_text(std::string_view markdown);

class Meanings {
 public:
  explicit Meanings(std::span<const PageText> pages);
  // The row or item that defines the word, in the sections of its class;
  // nullptr without one.
  const Block* find(const Word& word) const;

 private:
  // By heading and word, the first that defines it.
  std::map<std::pair<std::string, std::string>, Block> blocks_;
};

// "fun(): A | fun(x: B): C" as two types; "A|B" is one.
std::vector<std::string_view> overloads_of(std::string_view type);

}  // namespace ruleengine::lua
