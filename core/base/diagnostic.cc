#include "core/base/diagnostic.h"

namespace ruleengine {
namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

void append_hex(std::string& out, unsigned char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += "\\x";
  out += kDigits[c >> 4];
  out += kDigits[c & 15];
}

void append_part(std::string& out, std::string_view label,
                 std::string_view part) {
  if (part.empty()) return;
  out += "\n  ";
  out += label;
  out.append(10 - label.size(), ' ');
  out += printable(part, 2000);
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (char raw : text) {
    if (out.size() >= limit) return out + "...";
    const auto c = static_cast<unsigned char>(raw);
    if (is_control(c)) {
      append_hex(out, c);
    } else {
      out += raw;
    }
  }
  return out;
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
