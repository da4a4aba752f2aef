#include "core/text/words.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/utf8.h"
#include "core/ir/data_type.h"
#include "core/text/read/lexer.h"

namespace ruleengine::text {
namespace {

constexpr std::array<std::string_view, 5> kTypeWords = {
    "seq", "map", "optional", "sparse_tensor", "opaque"};

// Whether all parts between the points are identifiers.
bool is_qualified(std::string_view domain) {
  for (;;) {
    const std::size_t point = domain.find('.');
    if (!is_identifier(domain.substr(0, point))) return false;
    if (point == std::string_view::npos) return true;
    domain.remove_prefix(point + 1);
  }
}

}  // namespace

std::string quoted_text(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = shown_size(text, i);
    if (text[i] == '"' || text[i] == '\\') out += '\\';
    if (size > 0) {
      out += text.substr(i, size);
      i += size;
    } else {
      const auto byte = static_cast<unsigned char>(text[i++]);
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out + "\"";
}

std::string name_text(std::string_view name) {
  const bool plain =
      is_identifier(name) && !is_float_word(name) &&
      ir::data_type_from_name(name) == ir::DataType::kUndefined &&
      std::ranges::find(kTypeWords, name) == kTypeWords.end();
  return plain ? std::string(name) : quoted_text(name);
}

std::string qualified_text(std::string_view name) {
  return is_qualified(name) ? std::string(name) : quoted_text(name);
}

std::string op_text(std::string_view domain, std::string_view type,
                    std::string_view overload) {
  std::string out;
  if (!domain.empty()) out = qualified_text(domain) + ".";
  out += is_identifier(type) ? std::string(type) : quoted_text(type);
  if (!overload.empty()) out += ":" + name_text(overload);
  return out;
}

}  // namespace ruleengine::text
