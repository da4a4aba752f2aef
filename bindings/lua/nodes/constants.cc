// Numbers of a rule as constants of an element type.
#include <fmt/format.h>

#include "bindings/lua/nodes/attribute_value.h"
#include "bindings/lua/words/element_types.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

Failed reject_number(Host& host, double number, ir::DataType type,
                     std::string_view place) {
  return reject(
      host, "a number does not fit the required type",
      fmt::format("{} as {}, {}", number, ir::data_type_name(type), place));
}

const ir::Literal* make_tensor(Host& host, ir::DataType type,
                               std::span<const double> numbers, bool scalar,
                               std::string_view place) {
  Arena& arena = host.session.graph->model().arena;
  const auto width = static_cast<std::size_t>(ir::bit_width(type)) / 8;
  const std::span<std::byte> bytes =
      arena.array<std::byte>(numbers.size() * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (width == 0 ||
        !store_element(bytes.data() + i * width, type, numbers[i])) {
      return reject_number(host, numbers[i], type, place);
    }
  }
  ir::Literal tensor{.dtype = type, .storage = ir::Storage::kRaw};
  tensor.bytes = bytes;
  if (!scalar) {
    const auto size = static_cast<std::int64_t>(numbers.size());
    tensor.dims = arena.copy(std::span<const std::int64_t>(&size, 1));
  }
  return arena.make<ir::Literal>(tensor);
}

}  // namespace ruleengine::lua
