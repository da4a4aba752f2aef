#include "core/base/diagnostic.h"

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace ruleengine {
namespace {

void append_part(std::string& out, std::string_view label,
                 std::string_view part) {
  if (part.empty()) return;
  out += fmt::format("\n  {:10}{}", label, printable(part, 2000));
}

}  // namespace

std::string quoted_name(std::string_view name, std::size_t limit) {
  return "'" + printable(name, limit) + "'";
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= limit) return out + "...";
    if (const std::size_t size = shown_size(text, i); size > 0) {
      out += text.substr(i, size);
      i += size;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i++]));
    }
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  while (limit > 0 && continues(limit)) --limit;
  return std::string(text.substr(0, limit)) + "...";
}

std::string Diagnostic::text() const {
  std::string out = "error: " + printable(what, 2000);
  append_part(out, "where:", where);
  append_part(out, "expected:", expected);
  append_part(out, "found:", found);
  append_part(out, "hint:", hint);
  return out;
}

}  // namespace ruleengine
