#include "bindings/lua/reference/meaning.h"

#include <algorithm>

namespace ruleengine::lua {
namespace {

// Whether `list`, separated by bars, has the item.
bool lists(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const std::string_view each = list.substr(0, list.find('|'));
    if (each == item) return true;
    list.remove_prefix(std::min(list.size(), each.size() + 1));
  }
  return false;
}

}  // namespace

Meanings::Meanings(std::span<const PageText> pages) {
  for (const PageText& page : pages) {
    for (Block& block : read_page(page.text)) {
      if (!defined_words(block).empty()) blocks_.push_back(std::move(block));
    }
  }
}

const Block* Meanings::find(const Word& word) const {
  const auto of = std::ranges::find(word_classes(), word.of, &WordClass::name);
  for (const Block& block : blocks_) {
    const auto defined = defined_words(block);
    if (lists(of->sections, block.heading) &&
        std::ranges::find(defined, word.name) != defined.end()) {
      return &block;
    }
  }
  return nullptr;
}

std::vector<std::string_view> overloads_of(std::string_view type) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = type.find(" | ");
    out.push_back(type.substr(0, end));
    if (end == type.npos) return out;
    type.remove_prefix(end + 3);
  }
}

}  // namespace ruleengine::lua
