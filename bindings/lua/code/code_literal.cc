#include "bindings/lua/code/code_literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bindings/lua/words/element_types.h"
#include "core/base/whole.h"
#include "core/ir/data_type.h"
#include "core/text/numbers.h"

namespace ruleengine::lua {
namespace {

using Kind = ir::AttributeKind;

constexpr std::int64_t kMostElements = 16;  // of a tensor that is written out
constexpr std::size_t kMostItems = 4096;    // of a list
std::optional<std::string> number_text(double number, bool single) {
  if (std::isnan(number)) return std::nullopt;
  if (std::isinf(number)) return number > 0 ? "math.huge" : "-math.huge";
  if (number == 0 && std::signbit(number)) return "-0";
  return single ? text::number_text(static_cast<float>(number))
                : text::number_text(number);
}

// {1, 2}; none if one of them cannot be written.
template <typename Items, typename Text>
std::optional<std::string> list_text(const Items& items, Text text) {
  if (items.size() > kMostItems) return std::nullopt;
  std::string out;
  for (const auto& item : items) {
    const std::optional<std::string> one = text(item);
    if (!one) return std::nullopt;
    out += (out.empty() ? "" : ", ") + *one;
  }
  return "{" + out + "}";
}

std::optional<std::string> integer_text(std::int64_t number) {
  if (!is_whole(static_cast<double>(number))) return std::nullopt;
  return std::to_string(number);
}

std::optional<std::string> float_text(float number) {
  return number_text(number, true);
}

std::optional<std::string> string_text(std::string_view text) {
  if (text.size() > kMostItems) return std::nullopt;
  return code_text(text);
}

// Lua's numbers cannot hold every uint64.
bool is_written(ir::DataType type) {
  std::byte element[8];
  return type != ir::DataType::kUint64 && store_element(element, type, 0);
}

}  // namespace

std::string code_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:03d}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string code_op(const ir::Op& op) {
  std::string type(op.type);
  if (!op.overload.empty()) type += ":" + std::string(op.overload);
  std::string out = "op";
  if (!op.domain.empty()) {
    out += is_lua_name(op.domain) ? "." + std::string(op.domain)
                                  : "[" + code_text(op.domain) + "]";
  }
  return out + (is_lua_name(type) ? "." + type : "[" + code_text(type) + "]");
}

std::string code_key(std::string_view name) {
  return is_lua_name(name) ? std::string(name) : "[" + code_text(name) + "]";
}

std::string code_long_text(std::string_view text) {
  std::string level;
  while (text.find("]" + level + "]") != text.npos) level += '=';
  return "[" + level + "[" + std::string(text) + "]" + level + "]";
}

ir::AttributeKind guessed_kind(const ir::Attribute& attribute) {
  switch (attribute.kind) {
    case Kind::kFloat:
      return is_whole(attribute.f) ? Kind::kInt : Kind::kFloat;
    case Kind::kFloats:
      return std::ranges::all_of(attribute.floats, is_whole) ? Kind::kInts
                                                             : Kind::kFloats;
    case Kind::kStrings:
      return attribute.strings.empty() ? Kind::kInts : Kind::kStrings;
    default:
      return attribute.kind;
  }
}

std::optional<std::string> code_attribute(const ir::Attribute& attribute,
                                          const ops::FormalAttribute* formal,
                                          ir::ExternalData* external) {
  const Kind read = formal != nullptr ? formal->kind : guessed_kind(attribute);
  if (!attribute.ref.empty() || read != attribute.kind) return std::nullopt;
  switch (attribute.kind) {
    case Kind::kInt:
      return integer_text(attribute.i);
    case Kind::kFloat:
      return float_text(attribute.f);
    case Kind::kString:
      return string_text(attribute.s);
    case Kind::kInts:
      return list_text(attribute.ints, integer_text);
    case Kind::kFloats:
      return list_text(attribute.floats, float_text);
    case Kind::kStrings:
      return list_text(attribute.strings, string_text);
    case Kind::kTensor:
      return code_tensor_text(*attribute.tensors[0], external);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> code_tensor_text(const ir::Literal& tensor,
                                            ir::ExternalData* external) {
  if (!is_written(tensor.dtype) || tensor.element_count() > kMostElements) {
    return std::nullopt;
  }
  // Lua numbers cannot hold every int64.
  if (tensor.dtype == ir::DataType::kInt64) {
    const auto ints = ir::to_ints(tensor, external, kMostElements);
    if (!ints) return std::nullopt;
    for (const std::int64_t each : *ints) {
      if (!integer_text(each)) return std::nullopt;
    }
  }
  const auto numbers = ir::to_doubles(tensor, external, kMostElements);
  if (!numbers) return std::nullopt;
  const bool single = tensor.dtype == ir::DataType::kFloat;
  const auto elements = list_text(
      *numbers, [&](double each) { return number_text(each, single); });
  if (!elements) return std::nullopt;
  return fmt::format("tensor(\"{}\", {{{}}}, {})",
                     ir::data_type_name(tensor.dtype),
                     fmt::join(tensor.dims, ", "), *elements);
}

const ir::Literal* code_tensor(Arena& arena, ir::DataType type,
                               std::span<const std::int64_t> dims,
                               std::span<const double> numbers) {
  if (!is_written(type)) return nullptr;
  const bool real = ir::is_float(type);
  const auto width = static_cast<std::size_t>(ir::bit_width(type)) / 8;
  const std::span<std::byte> bytes =
      arena.array<std::byte>(width * numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool fits = store_element(bytes.data() + i * width, type, numbers[i]);
    if (!real && !(fits && is_whole(numbers[i]))) return nullptr;
  }
  return arena.make<ir::Literal>(ir::Literal{.dtype = type,
                                             .storage = ir::Storage::kRaw,
                                             .dims = arena.copy(dims),
                                             .bytes = bytes});
}

}  // namespace ruleengine::lua
