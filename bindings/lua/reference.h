// The reference of the rule language: a table of its words with their types,
// the pages under docs/ that say what they mean, and stubs that tell both to an
// editor. Pure functions but for shipped_folder(); any thread.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ruleengine::lua {

// A class of the stubs: what a rule file has in hand.
struct WordClass {
  std::string_view name;      // "re.Value"; "" for what stands alone
  std::string_view sections;  // of the pages, with the meanings; separated by |
  std::string_view bases;     // ": re.Pattern", as in LuaCATS; or ""
  std::string_view extras;    // further lines of LuaCATS, each of one field
};
std::span<const WordClass> word_classes();

struct Word {
  std::string_view of;    // a class
  std::string_view name;
  std::string_view type;  // as in LuaCATS; " | " stands between overloads
};
std::span<const Word> words();  // in the order of the classes

// A page under docs/.
struct PageText {
  std::string name;  // "language.md"
  std::string text;
};
// The pages that have the words, in order.
std::span<const std::string_view> reference_pages();

// What ships beside the rules: the folder "docs", or "lua" with the stubs.
// kUsage if the installation lacks it.
Result<std::filesystem::path> shipped_folder(const std::string& name);

// One place of a page that speaks of a word, as plain text.
struct Passage {
  std::string heading;
  std::string form;  // how the word is written: the first cell of a row, or ""
  std::string text;
};
struct Reference {
  std::vector<std::string> types;  // "re.Value:rank(): integer?"
  std::vector<Passage> passages;   // those that define the word come first
};
// Empty for what is neither a word, nor an op, nor in the pages. "m.x:dims" and
// ":dims" are the word "dims", "re.Value:dims" is that of one class.
Reference reference_of(std::string_view word, std::span<const PageText> pages);

struct DescribedWord {
  std::string_view of;  // a class
  std::string name, text;
};
// All words, in the order of the table.
std::vector<DescribedWord> described_words(std::span<const PageText> pages);

// The language for editors, as LuaCATS: words, classes of ops, ops with their
// attributes. Fails where no page says what a word means.
Result<std::string> language_stubs(std::span<const PageText> pages);

}  // namespace ruleengine::lua
