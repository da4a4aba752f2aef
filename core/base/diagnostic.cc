#include "core/base/diagnostic.h"

namespace ruleengine {
namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

unsigned char byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// The size of the character at `i`, or 0 where none is: not UTF-8, or one of
// the second set of control characters, which terminals obey too.
std::size_t utf8_size(std::string_view text, std::size_t i) {
  const unsigned char first = byte_at(text, i), second = byte_at(text, i + 1);
  if (first < 0x80) return is_control(first) ? 0 : 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte_at(text, i + k) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xc2 && second < 0xa0) return 0;  // controls
  if (first == 0xe0 && second < 0xa0) return 0;  // too long
  if (first == 0xed && second >= 0xa0) return 0;  // surrogates
  if (first == 0xf0 && second < 0x90) return 0;  // too long
  return first == 0xf4 && second >= 0x90 ? 0 : size;  // past the end
}

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
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= limit) return out + "...";
    if (const std::size_t size = utf8_size(text, i); size > 0) {
      out += text.substr(i, size);
      i += size;
    } else {
      append_hex(out, byte_at(text, i++));
    }
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (byte_at(text, limit) & 0xc0) == 0x80) --limit;
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
