#include "core/text/words.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "core/base/utf8.h"
#include "core/ir/data_type.h"
#include "core/text/read/lexer.h"
#include "core/wire/schema.h"

namespace ruleengine::text {
namespace {

using ir::AttributeKind;

// Indexed by the number of the kind.
constexpr std::array<std::string_view, 15> kNames = {
    "undefined",      "float",      "int",        "string",
    "tensor",         "graph",      "floats",     "ints",
    "strings",        "tensors",    "graphs",     "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

struct Pair {
  AttributeKind element, list;
};
constexpr std::array kPairs = {
    Pair{AttributeKind::kFloat, AttributeKind::kFloats},
    Pair{AttributeKind::kInt, AttributeKind::kInts},
    Pair{AttributeKind::kString, AttributeKind::kStrings},
    Pair{AttributeKind::kTensor, AttributeKind::kTensors},
    Pair{AttributeKind::kGraph, AttributeKind::kGraphs},
    Pair{AttributeKind::kSparseTensor, AttributeKind::kSparseTensors},
    Pair{AttributeKind::kTypeProto, AttributeKind::kTypeProtos}};

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
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = shown_size(text, i);
    if (text[i] == '"' || text[i] == '\\') out += '\\';
    if (size > 0) {
      out += text.substr(i, size);
      i += size;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i++]));
    }
  }
  return out + "\"";
}

std::string name_text(std::string_view name) {
  const bool plain =
      is_identifier(name) && !is_float_word(name) &&
      ir::data_type_from_name(name) == ir::DataType::kUndefined &&
      type_word(name) == 0;
  return plain ? std::string(name) : quoted_text(name);
}

std::uint32_t type_word(std::string_view word) {
  if (word == "seq") return type_field::kSequence;
  if (word == "map") return type_field::kMap;
  if (word == "optional") return type_field::kOptional;
  if (word == "sparse_tensor") return type_field::kSparse;
  if (word == "opaque") return type_field::kOpaque;
  return 0;
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

std::string_view kind_name(AttributeKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return kNames[at < kNames.size() ? at : 0];
}

AttributeKind kind_from_name(std::string_view name) {
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<AttributeKind>(i);
  }
  return AttributeKind::kUndefined;
}

std::span<const std::string_view> kind_names() {
  return std::span(kNames).subspan(1);
}

bool is_list(AttributeKind kind) {
  return element_kind(kind) != AttributeKind::kUndefined;
}

AttributeKind list_of(AttributeKind kind) {
  for (const Pair& p : kPairs) {
    if (p.element == kind) return p.list;
  }
  return AttributeKind::kUndefined;
}

AttributeKind element_kind(AttributeKind list) {
  for (const Pair& p : kPairs) {
    if (p.list == list) return p.element;
  }
  return AttributeKind::kUndefined;
}

bool has_words(const ir::Attribute& a) {
  return !a.ref.empty() || (a.kind != AttributeKind::kSparseTensor &&
                            a.kind != AttributeKind::kSparseTensors &&
                            a.kind != AttributeKind::kUndefined);
}

}  // namespace ruleengine::text
