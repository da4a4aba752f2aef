#include "bindings/lua/code/code_literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/base/whole.h"
#include "core/ir/data_type.h"
#include "core/ir/narrow_float.h"
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

template <typename T>
bool put(double number, std::byte* at) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    if (!is_whole(number) ||
        number < static_cast<double>(std::numeric_limits<T>::min()) ||
        number > static_cast<double>(std::numeric_limits<T>::max())) {
      return false;
    }
  }
  const T value = static_cast<T>(number);
  std::memcpy(at, &value, sizeof value);
  return true;
}

template <ir::DataType type>
bool put_narrow(double number, std::byte* at) {
  const auto bits = static_cast<std::uint16_t>(ir::narrow(type, number));
  std::memcpy(at, &bits, sizeof bits);
  return true;
}

using Put = bool (*)(double, std::byte*);
Put put_of(ir::DataType type) {
  switch (type) {
    case ir::DataType::kFloat:
      return put<float>;
    case ir::DataType::kDouble:
      return put<double>;
    case ir::DataType::kFloat16:
      return put_narrow<ir::DataType::kFloat16>;
    case ir::DataType::kBfloat16:
      return put_narrow<ir::DataType::kBfloat16>;
    case ir::DataType::kInt8:
      return put<std::int8_t>;
    case ir::DataType::kInt16:
      return put<std::int16_t>;
    case ir::DataType::kInt32:
      return put<std::int32_t>;
    case ir::DataType::kInt64:
      return put<std::int64_t>;
    case ir::DataType::kUint8:
    case ir::DataType::kBool:
      return put<std::uint8_t>;
    case ir::DataType::kUint16:
      return put<std::uint16_t>;
    case ir::DataType::kUint32:
      return put<std::uint32_t>;
    default:
      return nullptr;
  }
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
                                          const ir::FormalAttribute* formal,
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

std::optional<std::string> code_tensor_text(const ir::Tensor& tensor,
                                            ir::ExternalData* external) {
  if (put_of(tensor.dtype) == nullptr ||
      tensor.element_count() > kMostElements) {
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

const ir::Tensor* code_tensor(Arena& arena, ir::DataType type,
                              std::span<const std::int64_t> dims,
                              std::span<const double> numbers) {
  const Put put = put_of(type);
  if (put == nullptr) return nullptr;
  const auto width = static_cast<std::size_t>(ir::bit_width(type)) / 8;
  const std::span<std::byte> bytes =
      arena.array<std::byte>(width * numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (type == ir::DataType::kBool && numbers[i] != 0 && numbers[i] != 1) {
      return nullptr;
    }
    if (!put(numbers[i], bytes.data() + i * width)) return nullptr;
  }
  return arena.make<ir::Tensor>(ir::Tensor{.dtype = type,
                                           .storage = ir::Storage::kRaw,
                                           .dims = arena.copy(dims),
                                           .bytes = bytes});
}

}  // namespace ruleengine::lua
