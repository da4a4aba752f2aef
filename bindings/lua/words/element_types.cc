#include "bindings/lua/words/element_types.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "bindings/lua/session/handle.h"
#include "core/ir/element_types.h"
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

}  // namespace

ir::DataType element_type(std::string_view name) {
  if (name == "float32") return ir::DataType::kFloat;
  if (name == "float64") return ir::DataType::kDouble;
  return ir::data_type_from_name(name);
}

bool fits_float(double number) {
  return same_kind(number, static_cast<double>(static_cast<float>(number)));
}

bool store_element(std::byte* to, ir::DataType type, double number) {
  using ir::DataType;
  bool fits = false;
  const bool is_integer = ir::visit_type(
      ir::IntegerTypes(), type,
      [&]<typename T>() { fits = store_integer<T>(to, number); });
  if (is_integer) return fits;
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
    default:
      return false;
  }
}

}  // namespace ruleengine::lua
