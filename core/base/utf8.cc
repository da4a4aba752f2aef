#include "core/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace ruleengine {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

std::uint32_t code_point(std::string_view text, std::size_t i,
                         std::size_t size) {
  if (size == 1) return byte_at(text, i);
  std::uint32_t code = byte_at(text, i) & (0x7fu >> size);
  for (std::size_t k = 1; k < size; ++k) {
    code = code << 6 | (byte_at(text, i + k) & 0x3fu);
  }
  return code;
}

// First and last code point of each range: controls, format characters (general
// category Cf), characters that are ignored where they cannot be displayed,
// line separators, and noncharacters. As of Unicode 16.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 28> kHidden = {{
    {0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},
    {0x34f, 0x34f},     {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfdd0, 0xfdef},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
}};

bool is_hidden(std::uint32_t code) {
  const auto after = std::ranges::upper_bound(
      kHidden, code, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
  if (after != kHidden.begin() && code <= (after - 1)->second) return true;
  return (code & 0xfffe) == 0xfffe;  // the last two of each plane
}

}  // namespace

std::size_t utf8_size(std::string_view text, std::size_t i) {
  if (i >= text.size()) return 0;
  const unsigned char first = byte_at(text, i), second = byte_at(text, i + 1);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte_at(text, i + k) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && second < 0xa0) return 0;       // overlong
  if (first == 0xed && second >= 0xa0) return 0;      // surrogates
  if (first == 0xf0 && second < 0x90) return 0;       // overlong
  return first == 0xf4 && second >= 0x90 ? 0 : size;  // above U+10FFFF
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_size(text, i);
    if (size == 0) return false;
    i += size;
  }
  return true;
}

std::size_t shown_size(std::string_view text, std::size_t i) {
  const std::size_t size = utf8_size(text, i);
  return size > 0 && is_hidden(code_point(text, i, size)) ? 0 : size;
}

}  // namespace ruleengine
