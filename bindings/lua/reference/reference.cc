#include "bindings/lua/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/lua/reference/page.h"
#include "bindings/lua/words/words.h"
#include "core/ops/op_facts.h"
#include "core/ops/row_text.h"

namespace ruleengine::lua {
namespace {

constexpr bool is_method(std::string_view type) {
  return type.starts_with("fun(self");
}

// "re.Value:rank(axes: integer): boolean" for each overload.
void add_types(const Word& word, std::vector<std::string>& out) {
  for (std::string_view type : overloads_of(word.type)) {
    std::string text(type);
    const char* mark = word.of.empty() ? "" : ".";
    if (is_method(type)) {
      mark = ":";
      const std::size_t end = text.find_first_of(",)");
      text.erase(4, end - 4 + (text[end] == ',' ? 2 : 0));
    }
    const bool is_called = word.of.empty() || is_method(type);
    if (is_called && text.starts_with("fun")) {
      out.push_back(
          fmt::format("{}{}{}{}", word.of, mark, word.name, text.substr(3)));
    } else {
      out.push_back(fmt::format("{}{}{}: {}", word.of, mark, word.name, text));
    }
  }
}

// The ops of that name, whatever their domain.
void add_ops(std::string_view name, std::vector<std::string>& out) {
  for (const ops::OpFacts* op : ops::newest_ops()) {
    if (op->type != name) continue;
    const std::string domain =
        op->domain.empty() ? "op" : fmt::format("op[\"{}\"]", op->domain);
    out.push_back(domain + "." + ops::signature(*op));
  }
}

// A word as it is asked for: "need", ":dims", "m.x:dims", "re.Value:dims".
struct Query {
  std::string_view of;    // a class; "" stands for any
  std::string_view name;  // "" for what is no word
};

Query query_of(std::string_view word) {
  const std::size_t at = word.find_last_of(".:");
  Query out{.name = at == word.npos ? word : word.substr(at + 1)};
  if (!is_lua_name(out.name)) return {};
  const std::string_view of = at == word.npos ? "" : word.substr(0, at);
  if (std::ranges::find(word_classes(), of, &WordClass::name) !=
      word_classes().end()) {
    out.of = of;
  }
  return out;
}

}  // namespace

Reference reference_of(std::string_view word, std::span<const PageText> pages) {
  Reference out;
  const auto [of, name] = query_of(word);
  if (name.empty()) return out;
  for (const Word& each : words()) {
    if (each.name == name && (of.empty() || each.of == of)) {
      add_types(each, out.types);
    }
  }
  if (of.empty()) add_ops(name, out.types);
  std::vector<Passage> further;
  for (const PageText& page : pages) {
    for (const Block& block : read_page(page.text)) {
      const auto defined = defined_words(block);
      const bool is_defined = std::ranges::find(defined, name) != defined.end();
      const bool is_titled =
          block.heading == name && block.kind != Block::Kind::kRow;
      if (!is_defined && !is_titled && !mentions(block, name)) continue;
      (is_defined ? out.passages : further)
          .push_back(
              {plain_text(block.heading), block.form, plain_text(block.text)});
    }
  }
  out.passages.insert(out.passages.end(),
                      std::make_move_iterator(further.begin()),
                      std::make_move_iterator(further.end()));
  return out;
}

std::vector<DescribedWord> described_words(std::span<const PageText> pages) {
  const Meanings meanings(pages);
  std::vector<DescribedWord> out;
  for (const Word& word : words()) {
    const Block* block = meanings.find(word);
    out.push_back({word.of, std::string(word.name),
                   block == nullptr ? "" : plain_text(block->text)});
  }
  return out;
}

}  // namespace ruleengine::lua
