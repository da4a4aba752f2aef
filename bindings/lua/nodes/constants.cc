// Numbers of a rule as constants of an element type.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "bindings/lua/nodes/attribute_value.h"
#include "core/ir/model.h"
#include "core/ir/narrow_float.h"

namespace ruleengine::lua {
namespace {

template <typename T>
void store(std::byte* to, T value) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(to, &value, sizeof(T));
}

template <typename T>
bool store_integer(std::byte* to, double number) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    // The upper half does not fit into int64.
    if (!(number >= 0 && number < 0x1p64) || std::trunc(number) != number) {
      return false;
    }
    return store(to, static_cast<T>(number)), true;
  } else {
    const auto read = to_integer(number);
    if (!read || !std::in_range<T>(*read)) return false;
    return store(to, static_cast<T>(*read)), true;
  }
}

// Rounding is allowed; overflow to infinity and underflow to 0 are not.
bool same_kind(double number, double stored) {
  if (std::isnan(number)) return std::isnan(stored);
  return std::isinf(number) == std::isinf(stored) &&
         (number == 0) == (stored == 0);
}

bool store_narrow(std::byte* to, ir::DataType type, double number) {
  const std::uint32_t bits = ir::narrow(type, number);
  store(to, static_cast<std::uint16_t>(bits));
  return same_kind(number, ir::widen(type, bits));
}

// One element; false when the type cannot hold the number.
bool store_element(std::byte* to, ir::DataType type, double number) {
  using ir::DataType;
  switch (type) {
    case DataType::kFloat:
      return store(to, static_cast<float>(number)), fits_float(number);
    case DataType::kDouble:
      return store(to, number), true;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return store_narrow(to, type, number);
    case DataType::kBool:
      return store(to, static_cast<std::uint8_t>(number != 0)),
             number == 0 || number == 1;
    case DataType::kInt8:
      return store_integer<std::int8_t>(to, number);
    case DataType::kInt16:
      return store_integer<std::int16_t>(to, number);
    case DataType::kInt32:
      return store_integer<std::int32_t>(to, number);
    case DataType::kInt64:
      return store_integer<std::int64_t>(to, number);
    case DataType::kUint8:
      return store_integer<std::uint8_t>(to, number);
    case DataType::kUint16:
      return store_integer<std::uint16_t>(to, number);
    case DataType::kUint32:
      return store_integer<std::uint32_t>(to, number);
    case DataType::kUint64:
      return store_integer<std::uint64_t>(to, number);
    default:
      return false;
  }
}

}  // namespace

bool fits_float(double number) {
  return same_kind(number, static_cast<double>(static_cast<float>(number)));
}

void reject_number(Host& host, double number, ir::DataType type,
                   std::string_view place) {
  reject(host, "a number does not fit the required type",
         fmt::format("{} as {}, {}", number, ir::data_type_name(type), place));
}

const ir::Tensor* make_tensor(Host& host, ir::DataType type,
                              std::span<const double> numbers, bool scalar,
                              std::string_view place) {
  Arena& arena = host.session.graph->model().arena;
  const auto width = static_cast<std::size_t>(ir::bit_width(type)) / 8;
  const std::span<std::byte> bytes =
      arena.array<std::byte>(numbers.size() * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (width == 0 ||
        !store_element(bytes.data() + i * width, type, numbers[i])) {
      reject_number(host, numbers[i], type, place);
      return nullptr;
    }
  }
  ir::Tensor tensor{.dtype = type, .storage = ir::Storage::kRaw};
  tensor.bytes = bytes;
  if (!scalar) {
    const auto size = static_cast<std::int64_t>(numbers.size());
    tensor.dims = arena.copy(std::span<const std::int64_t>(&size, 1));
  }
  return arena.make<ir::Tensor>(tensor);
}

}  // namespace ruleengine::lua
