#include "bindings/lua/reference/page.h"

#include <algorithm>

#include "core/text/lines.h"

namespace ruleengine::lua {
namespace {

bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The cells of "| a | b |"; a bar in code belongs to its cell.
std::vector<std::string_view> cells_of(std::string_view row) {
  std::vector<std::string_view> cells;
  bool is_code = false;
  std::size_t begin = 1;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '`') is_code = !is_code;
    if (row[i] != '|' || is_code) continue;
    cells.push_back(trimmed(row.substr(begin, i - begin)));
    begin = i + 1;
  }
  return cells;
}

// Calls visit(code) for each piece of code in backquotes.
template <typename Visit>
void each_code(std::string_view text, const Visit& visit) {
  while (true) {
    const std::size_t begin = text.find('`');
    if (begin == text.npos) return;
    const std::size_t end = text.find('`', begin + 1);
    if (end == text.npos) return;
    visit(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

class Reader {
 public:
  explicit Reader(std::string_view page) : rest_(page) {}

  std::vector<Block> run() {
    while (!rest_.empty()) read(text::take_line(rest_));
    return std::move(blocks_);
  }

 private:
  void read(std::string_view line) {
    if (line.starts_with("```")) {
      is_fenced_ = !is_fenced_;
      is_open_ = false;
      return;
    }
    if (is_fenced_) return;
    if (trimmed(line).empty()) {
      is_open_ = false;
      return;
    }
    if (line.starts_with('#')) {
      heading_ = trimmed(line.substr(line.find_first_not_of('#')));
      is_open_ = false;
      return;
    }
    if (line.starts_with('|')) return read_row(line);
    const bool is_item = line.starts_with("- ");
    if (!is_open_ && line.starts_with("    ")) return;  // code
    if (is_open_ && !is_item) {
      blocks_.back().text += ' ';
      blocks_.back().text += trimmed(line);
      return;
    }
    blocks_.push_back({is_item ? Block::Kind::kItem : Block::Kind::kText,
                       heading_, "",
                       std::string(trimmed(line.substr(is_item ? 2 : 0)))});
    is_open_ = true;
  }

  void read_row(std::string_view line) {
    is_open_ = false;
    const auto cells = cells_of(line);
    if (cells.size() < 2) return;
    if (cells[0].starts_with("---")) {  // what stands above it is the head
      if (!blocks_.empty() && blocks_.back().kind == Block::Kind::kRow) {
        blocks_.pop_back();
      }
      return;
    }
    blocks_.push_back({Block::Kind::kRow, heading_, std::string(cells[0]),
                       std::string(cells[1])});
  }

  std::string_view rest_;
  std::string heading_;
  std::vector<Block> blocks_;
  bool is_fenced_ = false;
  bool is_open_ = false;  // the last block may go on
};

// The last name of "m.x:dims(0)" before other code: "dims"; "" without one.
std::string_view last_name(std::string_view code) {
  std::string_view name;
  for (std::size_t at = 0; at < code.size();) {
    if (is_name_character(code[at])) {
      const std::size_t begin = at;
      while (at < code.size() && is_name_character(code[at])) ++at;
      name = code.substr(begin, at - begin);
    } else if (code[at] == '.' || code[at] == ':') {
      ++at;
    } else {
      break;
    }
  }
  return name;
}

}  // namespace

std::vector<Block> read_page(std::string_view page) {
  return Reader(page).run();
}

std::vector<std::string_view> defined_words(const Block& block) {
  std::vector<std::string_view> out;
  const auto add = [&](std::string_view code) {
    const std::string_view name = last_name(code);
    if (!name.empty()) out.push_back(name);
  };
  if (block.kind == Block::Kind::kRow) {
    each_code(block.form, add);
  } else if (block.kind == Block::Kind::kItem) {
    std::string_view text = block.text;
    if (text.starts_with("**")) text.remove_prefix(2);
    if (text.starts_with('`')) add(text.substr(1, text.find('`', 1) - 1));
  }
  return out;
}

bool mentions(const Block& block, std::string_view word) {
  bool found = false;
  const auto look = [&](std::string_view code) {
    for (std::size_t at = code.find(word); at != code.npos;
         at = code.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      found = found || ((at == 0 || !is_name_character(code[at - 1])) &&
                        (end == code.size() || !is_name_character(code[end])));
    }
  };
  each_code(block.form, look);
  each_code(block.text, look);
  return found;
}

std::string plain_text(std::string_view markdown) {
  std::string out;
  bool is_code = false;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const char c = markdown[i];
    if (c == '`') is_code = !is_code;
    if (!is_code && markdown.substr(i, 2) == "**") {
      ++i;
      continue;
    }
    const std::size_t end = markdown.find("](", i);
    if (!is_code && c == '[' && end != markdown.npos &&
        markdown.find('[', i + 1) > end) {
      out += plain_text(markdown.substr(i + 1, end - i - 1));
      i = std::min(markdown.find(')', end), markdown.size() - 1);
      continue;
    }
    out += c;
  }
  return out;
}

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
