// Arithmetic on shapes: broadcasting, element counts, axes, and types as text.
// Free functions over a DimTable that own nothing. They return "none" where a
// result is not provable, never a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/dim.h"
#include "core/ir/op.h"
#include "core/ir/type.h"

namespace ruleengine::ir {

// The broadcast of two sizes; none when they clash or may differ with neither
// known to be 1.
std::optional<ir::Dim> broadcast_dim(ir::DimTable& dims, ir::Dim a, ir::Dim b);

// ONNX's multidirectional broadcasting; none when any axis is unknown.
std::optional<std::vector<ir::Dim>> broadcast(ir::DimTable& dims,
                                              std::span<const ir::Dim> a,
                                              std::span<const ir::Dim> b);

// Whether `shape` provably broadcasts to exactly `target` (unidirectional).
bool fits(std::span<const ir::Dim> shape, std::span<const ir::Dim> target);

// Whether the two are provably the same shape.
bool same_shape(std::span<const ir::Dim> a, std::span<const ir::Dim> b);

// Product of all dimensions; 1 for a scalar.
ir::Dim element_count(ir::DimTable& dims, std::span<const ir::Dim> shape);

// The product when every dimension is known and it does not overflow.
std::optional<std::int64_t> known_count(std::span<const ir::Dim> shape);

// `axis` in [-rank, rank) as an index from 0; none outside that range.
std::optional<std::size_t> place_of_axis(std::int64_t axis, std::size_t rank);

// "float[2,H,S]", "int64", "float[?]" where the rank is unknown, "other".
std::string type_text(const ir::DimTable& dims, const ir::Type& type);

// Same kind, element type and shape, Dims compared as expressions.
bool same_type(const ir::Type& a, const ir::Type& b);

}  // namespace ruleengine::ir
