// Types of values. Tensor types carry an element type and, when the rank is
// known, one Dim for each axis. Other ONNX types (sequence, optional, map,
// sparse) are kept as their encoded TypeProto and only compared for equality;
// an inferred one has the Dims that occur in it, in order. Types live in the
// arena of their Model and are immutable.
#pragma once

#include <cstddef>
#include <span>

#include "core/ir/data_type.h"
#include "core/ir/dim.h"

namespace ruleengine::ir {

enum class TypeKind : std::uint8_t { kTensor, kOther };

struct Type {
  TypeKind kind = TypeKind::kTensor;
  DataType elem = DataType::kUndefined;  // of a tensor
  bool has_shape = false;                // of a tensor: the rank is known
  std::span<const Dim> dims;
  std::span<const std::byte> other;  // encoded TypeProto when kOther

  bool is_tensor() const { return kind == TypeKind::kTensor; }
  std::size_t rank() const { return dims.size(); }
};

// Whether the type is that of a tensor of known rank.
inline bool is_ranked(const Type* type) {
  return type != nullptr && type->is_tensor() && type->has_shape;
}

}  // namespace ruleengine::ir
