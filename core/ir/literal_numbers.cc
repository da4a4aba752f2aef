#include <concepts>
#include <cstring>
#include <utility>

#include "core/ir/element_types.h"
#include "core/ir/literal_decode.h"
#include "core/ir/narrow_float.h"

namespace ruleengine::ir {
namespace {

using tensor_internal::Bytes;

// Calls `use` with each element; false as soon as `use` returns false.
template <typename T, typename Use>
bool each(Bytes bytes, Use use) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    if (!use(element)) return false;
  }
  return true;
}

template <typename T, typename Use>
bool each_narrow(DataType type, Bytes bytes, Use use) {
  return each<T>(bytes, [&](T bits) { return use(widen(type, bits)); });
}

// Types smaller than a byte, one byte each.
template <typename Use>
bool each_small(DataType type, Bytes elements, Use use) {
  const int bits = bit_width(type);
  const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
  return each<std::uint8_t>(elements, [&](std::uint8_t e) {
    if (type == DataType::kFloat4E2M1) return use(widen(type, e));
    const bool negative = is_signed && (e >> (bits - 1)) != 0;
    return use(std::int64_t{e} - (negative ? 1 << bits : 0));
  });
}

template <typename Use>
bool each_element(DataType type, Bytes bytes, Use use) {
  bool done = false;
  const bool is_number = visit_type(
      NumberTypes(), type, [&]<typename T>() { done = each<T>(bytes, use); });
  if (is_number) return done;
  if (type == DataType::kBool) {
    return each<std::uint8_t>(
        bytes, [&](std::uint8_t b) { return use(b != 0 ? 1 : 0); });
  }
  return bit_width(type) == 16 ? each_narrow<std::uint16_t>(type, bytes, use)
                               : each_narrow<std::uint8_t>(type, bytes, use);
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
  return each_small(tensor.dtype,
                    unpacked_bits(bits, *bytes, tensor.element_count()), use);
}

// All elements as `convert` gives them; none where it gives none for one.
template <typename T, typename Convert>
std::optional<std::vector<T>> converted(const Literal& tensor,
                                        ExternalData* external,
                                        std::int64_t limit, Convert convert) {
  std::vector<T> out;
  const bool done = for_all(tensor, external, limit, [&](auto element) {
    const std::optional<T> value = convert(element);
    if (value) out.push_back(*value);
    return value.has_value();
  });
  return done ? std::optional(std::move(out)) : std::nullopt;
}

// None where the value is not an int64.
template <typename T>
std::optional<std::int64_t> to_int(T element) {
  const auto number = static_cast<std::int64_t>(element);
  return std::in_range<std::int64_t>(element) ? std::optional(number)
                                              : std::nullopt;
}

template <std::floating_point T>
std::optional<std::int64_t> to_int(T element) {
  const auto value = static_cast<double>(element);
  // 2^63 is a double, the largest int64 is not.
  if (!(value >= -0x1p63 && value < 0x1p63)) return std::nullopt;
  const auto number = static_cast<std::int64_t>(value);
  const bool is_whole = static_cast<double>(number) == value;
  return is_whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::int64_t>> to_ints(const Literal& tensor,
                                                 ExternalData* external,
                                                 std::int64_t limit) {
  return converted<std::int64_t>(tensor, external, limit,
                                 [](auto element) { return to_int(element); });
}

std::optional<std::vector<double>> to_doubles(const Literal& tensor,
                                              ExternalData* external,
                                              std::int64_t limit) {
  return converted<double>(tensor, external, limit, [](auto element) {
    return std::optional(static_cast<double>(element));
  });
}

}  // namespace ruleengine::ir
