// Reads a page under docs/: headings, paragraphs, items of lists and rows of
// tables. Code in blocks is left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace ruleengine::lua
