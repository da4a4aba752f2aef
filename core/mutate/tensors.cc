// Tensors of other numbers, shapes and types.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/ir/element_types.h"
#include "core/ir/narrow_float.h"
#include "core/mutate/draft.h"

namespace ruleengine::mutate {
namespace {

constexpr std::int64_t kMostElements = 1 << 16;

template <typename T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// A number that does not fit becomes the nearest that does.
template <typename T>
void put_whole(std::byte* to, double value) {
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());
  if (std::isnan(value)) return put<T>(to, 0);
  if (value <= kLeast) return put(to, std::numeric_limits<T>::min());
  if (value >= kMost) return put(to, std::numeric_limits<T>::max());
  put(to, static_cast<T>(value));
}

bool put_element(ir::DataType elem, std::byte* to, double value) {
  const auto put_as = [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>) {
      put(to, static_cast<T>(value));
    } else {
      put_whole<T>(to, value);
    }
  };
  if (ir::visit_type(ir::NumberTypes(), elem, put_as)) return true;
  if (elem == ir::DataType::kBool) {
    return put<std::uint8_t>(to, value != 0), true;
  }
  if (!ir::is_narrow_float(elem)) return false;
  const std::uint32_t bits = ir::narrow(elem, value);
  if (ir::bit_width(elem) == 16) {
    return put(to, static_cast<std::uint16_t>(bits)), true;
  }
  return put(to, static_cast<std::uint8_t>(bits)), ir::bit_width(elem) == 8;
}

}  // namespace

std::optional<std::vector<double>> numbers_of(const ir::Literal& tensor) {
  return ir::to_doubles(tensor, nullptr, kMostElements);
}

const ir::Literal* make_tensor(Arena& arena, ir::DataType elem,
                               std::span<const std::int64_t> dims,
                               std::span<const double> numbers) {
  const int bits = ir::bit_width(elem);
  if (bits < 8) return nullptr;
  ir::Literal* const tensor = arena.make<ir::Literal>();
  tensor->dtype = elem;
  tensor->dims = arena.copy(dims);
  const std::int64_t count = tensor->element_count();
  if (count > kMostElements || (numbers.empty() && count > 0)) return nullptr;
  const auto size = static_cast<std::size_t>(bits / 8);
  const auto bytes =
      arena.array<std::byte>(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const double number = numbers[i % numbers.size()];
    if (!put_element(elem, bytes.data() + i * size, number)) return nullptr;
  }
  tensor->bytes = bytes;
  return tensor;
}

}  // namespace ruleengine::mutate
