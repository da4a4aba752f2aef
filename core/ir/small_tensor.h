// Small tensors that the engine makes. The arena owns their data.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/arena.h"
#include "core/ir/literal.h"

namespace ruleengine::ir {

// With one axis. T is the representation of `dtype`.
template <class T>
Literal vector_tensor(Arena& arena, DataType dtype, std::span<const T> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return {.dtype = dtype,
          .dims = arena.copy(std::span<const std::int64_t>(&size, 1)),
          .bytes = std::as_bytes(arena.copy(values))};
}

inline Literal int64_scalar(Arena& arena, std::int64_t value) {
  const std::span<const std::int64_t> values(&value, 1);
  return {.dtype = DataType::kInt64,
          .bytes = std::as_bytes(arena.copy(values))};
}

inline Literal int64_vector(Arena& arena,
                            std::span<const std::int64_t> values) {
  return vector_tensor(arena, DataType::kInt64, values);
}

}  // namespace ruleengine::ir
