// Numbers of a rule as constants of an element type.
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "bindings/lua/attribute_value.h"
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
  const auto read = to_integer(number);
  if (!read) return false;
  if constexpr (!std::is_same_v<T, std::int64_t>) {
    if (*read < 0 && std::is_unsigned_v<T>) return false;
    if constexpr (sizeof(T) < 8) {
      if (*read < std::numeric_limits<T>::min() ||
          *read > std::numeric_limits<T>::max()) {
        return false;
      }
    }
  }
  store(to, static_cast<T>(*read));
  return true;
}

// One element; false when the type cannot hold the number.
bool store_element(std::byte* to, ir::DataType type, double number) {
  using ir::DataType;
  switch (type) {
    case DataType::kFloat:
      return store(to, static_cast<float>(number)), true;
    case DataType::kDouble:
      return store(to, number), true;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return store(to, static_cast<std::uint16_t>(ir::narrow(type, number))),
             true;
    case DataType::kBool:
      return store(to, static_cast<std::uint8_t>(number != 0)), true;
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

const ir::Tensor* make_tensor(Runtime& rt, ir::DataType type,
                              std::span<const double> numbers, bool scalar) {
  Arena& arena = rt.session.graph->model().arena;
  const auto width = static_cast<std::size_t>(ir::bit_width(type)) / 8;
  const std::span<std::byte> bytes =
      arena.array<std::byte>(numbers.size() * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (width == 0 ||
        !store_element(bytes.data() + i * width, type, numbers[i])) {
      fail(rt, "the number cannot be a constant of type " +
                   std::string(ir::data_type_name(type)),
           std::string(ir::data_type_name(type)), std::to_string(numbers[i]));
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
