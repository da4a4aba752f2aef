#include "core/base/layout.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/base/diagnostic.h"

namespace ruleengine {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell[0]));
}

// About the columns on a terminal: counts bytes except UTF-8 continuations.
std::size_t width(const std::string& cell) {
  return static_cast<std::size_t>(std::ranges::count_if(cell, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// Narrows the widest columns, which are two spaces apart, until all fit.
void narrow(std::vector<std::size_t>& widths, std::size_t columns) {
  constexpr std::size_t kLeast = 12;
  while (true) {
    std::size_t all = 2 * (widths.size() - 1);
    for (const std::size_t each : widths) all += each;
    const auto widest = std::ranges::max_element(widths);
    if (all <= columns || *widest <= kLeast) return;
    --*widest;
  }
}

// A cell in lines of at most `most` characters. A line ends behind a comma or a
// slash where its second half has one.
std::vector<std::string> lines_of(std::string_view cell, std::size_t most) {
  std::vector<std::string> out;
  while (width(std::string(cell)) > most) {
    std::size_t end = 0, stop = 0;
    for (std::size_t count = 0; count < most; ++count) {
      do ++end;
      while (end < cell.size() &&
             (static_cast<unsigned char>(cell[end]) & 0xc0) == 0x80);
      const char last = cell[end - 1];
      if (2 * count >= most && (last == ',' || last == '/')) stop = end;
    }
    if (stop == 0) stop = end;
    out.emplace_back(cell.substr(0, stop));
    cell.remove_prefix(stop);
    cell.remove_prefix(std::min(cell.find_first_not_of(' '), cell.size()));
  }
  out.emplace_back(cell);
  return out;
}

}  // namespace

std::string counted(std::size_t count, std::string_view one,
                    std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  if (many.empty()) return fmt::format("{} {}s", count, one);
  return fmt::format("{} {}", count, many);
}

std::string table(const std::vector<std::vector<std::string>>& rows,
                  std::size_t columns) {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    auto& out = cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      out.push_back(printable(row[i]));
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width(out[i]));
    }
  }
  if (columns > 0 && !widths.empty()) narrow(widths, columns);
  std::string text;
  for (std::size_t r = 0; r < cells.size(); ++r) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 1;
    for (std::size_t i = 0; i < cells[r].size(); ++i) {
      parts.push_back(lines_of(cells[r][i], widths[i]));
      height = std::max(height, parts.back().size());
    }
    for (std::size_t h = 0; h < height; ++h) {
      std::string line;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string part = h < parts[i].size() ? parts[i][h] : "";
        const std::string pad(widths[i] - width(part), ' ');
        const bool right = r > 0 && is_number(cells[r][i]);
        if (i > 0) line += "  ";
        line += right ? pad + part : part + pad;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  }
  return text;
}

std::string folded(std::string_view text, std::size_t indent,
                   std::size_t further) {
  constexpr std::size_t kWidth = 116;
  std::string out;
  std::string line(indent, ' ');
  bool is_empty = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!is_empty && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.assign(further, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + std::string(word);
    is_empty = false;
  }
  return out + line + "\n";
}

std::string indented(std::string_view lines, std::size_t by) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += std::string(by, ' ').append(lines.substr(0, end)) + '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

}  // namespace ruleengine
