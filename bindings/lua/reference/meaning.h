// What the pages say of the words of the table.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/lua/reference.h"
#include "bindings/lua/reference/page.h"

namespace ruleengine::lua {

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
