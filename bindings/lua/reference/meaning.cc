#include "bindings/lua/reference/meaning.h"

#include <algorithm>

namespace ruleengine::lua {

Meanings::Meanings(std::span<const PageText> pages) {
  for (const PageText& page : pages) {
    for (const Block& block : read_page(page.text)) {
      for (const std::string_view word : defined_words(block)) {
        blocks_.try_emplace({block.heading, std::string(word)}, block);
      }
    }
  }
}

const Block* Meanings::find(const Word& word) const {
  const auto of = std::ranges::find(word_classes(), word.of, &WordClass::name);
  for (std::string_view rest = of->sections; !rest.empty();) {
    const std::string_view heading = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(rest.size(), heading.size() + 1));
    const auto at =
        blocks_.find({std::string(heading), std::string(word.name)});
    if (at != blocks_.end()) return &at->second;
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
