// `ruleengine docs [WORD]...`: what the reference of the rule language says of
// words; without one, all words. Also the stubs for editors.

#include <fmt/format.h>

#include "bindings/api/reference.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct DocsFlags : Flags {
  bool stubs = false, luarc = false;
};

std::string text_of(const api::Reference& found) {
  std::string text;
  for (const std::string& type : found.types) text += folded(type, 0, 4);
  std::string heading;
  for (const api::Passage& each : found.passages) {
    if (each.heading != heading || text.empty()) {
      heading = each.heading;
      text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", heading);
    }
    if (!each.form.empty()) text += folded(each.form, 2, 4);
    text +=
        folded(each.text, each.form.empty() ? 2 : 4, each.form.empty() ? 2 : 4);
  }
  return text;
}

std::string list_of(const std::vector<api::DescribedWord>& words) {
  std::string text, of;
  for (const api::DescribedWord& word : words) {
    if (word.of != of) text += fmt::format("\n{}\n", word.of);
    of = word.of;
    text += folded(fmt::format("{:<16} {}", word.name, word.text),
                   of.empty() ? 0 : 2, of.empty() ? 17 : 19);
  }
  return text;
}

int docs(const DocsFlags& flags) {
  if (flags.stubs + flags.luarc + !flags.paths.empty() > 1) {
    throw misuse("--stubs, --luarc and words exclude each other");
  }
  if (flags.stubs || flags.luarc) {
    put(take(flags.stubs ? api::language_stubs()
                         : api::editor_configuration()));
    return 0;
  }
  if (flags.paths.empty()) {
    put(list_of(take(api::described_words())));
    return 0;
  }
  std::string text;
  for (const std::string& word : flags.paths) {
    text += (text.empty() ? "" : "\n") + text_of(take(api::reference(word)));
  }
  put(text);
  return 0;
}

}  // namespace

void add_docs(Line& line) {
  auto [docs, flags] =
      line.add(cli::docs, "docs", "what the reference of rules says of a word",
               "ruleengine docs either need");
  docs.paths("WORD", flags, "words of the rule language; none: a list of all");
  docs.flag("--stubs", flags.stubs,
            "print the language for editors, as LuaCATS, instead");
  docs.flag("--luarc", flags.luarc,
            "print a .luarc.json for lua-language-server, instead");
}

}  // namespace ruleengine::cli
