#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/ir/literal.h"
#include "core/ir/literal_decode.h"
#include "core/ir/narrow_float.h"

namespace ruleengine::ir {
namespace {

using tensor_internal::Bytes;

// Calls `use(i, element)` for each element; false as soon as `use` returns
// false.
template <typename T, typename Use>
bool each(Bytes bytes, Use use) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    if (!use(i, element)) return false;
  }
  return true;
}

template <typename T, typename Use>
bool each_narrow(DataType type, Bytes bytes, Use use) {
  return each<T>(
      bytes, [&](std::size_t i, T bits) { return use(i, widen(type, bits)); });
}

// Types smaller than a byte, one byte each.
template <typename Use>
bool each_small(DataType type, Bytes elements, Use use) {
  const int bits = bit_width(type);
  const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
  return each<std::uint8_t>(elements, [&](std::size_t i, std::uint8_t e) {
    if (type == DataType::kFloat4E2M1) return use(i, widen(type, e));
    const bool negative = is_signed && (e >> (bits - 1)) != 0;
    return use(i, std::int64_t{e} - (negative ? 1 << bits : 0));
  });
}

template <typename Use>
bool each_element(DataType type, Bytes bytes, Use use) {
  switch (type) {
    case DataType::kFloat:
      return each<float>(bytes, use);
    case DataType::kDouble:
      return each<double>(bytes, use);
    case DataType::kUint8:
      return each<std::uint8_t>(bytes, use);
    case DataType::kInt8:
      return each<std::int8_t>(bytes, use);
    case DataType::kUint16:
      return each<std::uint16_t>(bytes, use);
    case DataType::kInt16:
      return each<std::int16_t>(bytes, use);
    case DataType::kInt32:
      return each<std::int32_t>(bytes, use);
    case DataType::kInt64:
      return each<std::int64_t>(bytes, use);
    case DataType::kUint32:
      return each<std::uint32_t>(bytes, use);
    case DataType::kUint64:
      return each<std::uint64_t>(bytes, use);
    case DataType::kBool:
      return each<std::uint8_t>(bytes, [&](std::size_t i, std::uint8_t b) {
        return use(i, b != 0 ? 1 : 0);
      });
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return each_narrow<std::uint16_t>(type, bytes, use);
    default:
      return each_narrow<std::uint8_t>(type, bytes, use);
  }
}

bool is_numeric(DataType type) {
  return is_float(type) || is_integer(type) || type == DataType::kBool;
}

template <typename Use>
bool for_all(const Literal& tensor, ExternalData* external, std::int64_t limit,
             Use use) {
  if (!is_numeric(tensor.dtype) || tensor.element_count() > limit) return false;
  std::vector<std::byte> scratch;
  const auto bytes = raw_bytes(tensor, external, scratch);
  if (!bytes) return false;
  const int bits = bit_width(tensor.dtype);
  if (bits >= 8) return each_element(tensor.dtype, *bytes, use);
  std::vector<std::byte> elements(
      static_cast<std::size_t>(tensor.element_count()));
  tensor_internal::unpack_bits(bits, *bytes, elements);
  return each_small(tensor.dtype, Bytes(elements), use);
}

// False where the value is not an int64.
template <typename T>
bool to_int(T element, std::int64_t& to) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto value = static_cast<double>(element);
    // 2^63 is a double, the largest int64 is not.
    if (!(value >= -0x1p63 && value < 0x1p63)) return false;
    to = static_cast<std::int64_t>(value);
    return static_cast<double>(to) == value;
  } else {
    to = static_cast<std::int64_t>(element);
    return std::in_range<std::int64_t>(element);
  }
}

}  // namespace

std::optional<std::vector<std::int64_t>> to_ints(const Literal& tensor,
                                                 ExternalData* external,
                                                 std::int64_t limit) {
  std::vector<std::int64_t> out;
  if (tensor.element_count() > limit) return std::nullopt;
  const bool fits =
      for_all(tensor, external, limit, [&](std::size_t, auto element) {
        std::int64_t value = 0;
        if (!to_int(element, value)) return false;
        out.push_back(value);
        return true;
      });
  if (!fits) return std::nullopt;
  return out;
}

std::optional<std::vector<double>> to_doubles(const Literal& tensor,
                                              ExternalData* external,
                                              std::int64_t limit) {
  std::vector<double> out;
  if (tensor.element_count() > limit) return std::nullopt;
  const bool done =
      for_all(tensor, external, limit, [&](std::size_t, auto element) {
        out.push_back(static_cast<double>(element));
        return true;
      });
  if (!done) return std::nullopt;
  return out;
}

}  // namespace ruleengine::ir
