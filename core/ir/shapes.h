// Arithmetic on shapes, for whoever reasons about Dims: broadcasting, element
// counts, axes, and types as text. Free functions over a DimTable; nothing is
// owned; answers are "none" where a result cannot be said, never a guess.
#ifndef RULEENGINE_CORE_IR_SHAPES_H_
#define RULEENGINE_CORE_IR_SHAPES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/dim.h"
#include "core/ir/op.h"
#include "core/ir/type.h"

namespace ruleengine::ir {

// One axis of a broadcast; none when the two may differ (neither equal, nor
// one of them 1) or clash.
std::optional<ir::Dim> broadcast_dim(ir::DimTable& dims, ir::Dim a, ir::Dim b);

// ONNX's multidirectional broadcasting; none when any axis is unknown.
std::optional<std::vector<ir::Dim>> broadcast(ir::DimTable& dims,
                                              std::span<const ir::Dim> a,
                                              std::span<const ir::Dim> b);

// `shape` broadcasts to exactly `target` (unidirectional), provably.
bool fits(std::span<const ir::Dim> shape, std::span<const ir::Dim> target);

// Provably the same shape.
bool same_shape(std::span<const ir::Dim> a, std::span<const ir::Dim> b);

// Product of all dimensions; 1 for a scalar.
ir::Dim element_count(ir::DimTable& dims, std::span<const ir::Dim> shape);

// The size when every dimension is known and the product fits.
std::optional<std::int64_t> known_count(std::span<const ir::Dim> shape);

// `axis` in [-rank, rank) as a place; none outside.
std::optional<std::size_t> place_of_axis(std::int64_t axis, std::size_t rank);

// "float[2,H,S]", "int64", "float[?]" where the rank is unknown, "other".
std::string type_text(const ir::DimTable& dims, const ir::Type& type);

// Same kind, element type and shape, Dims compared as expressions.
bool same_type(const ir::Type& a, const ir::Type& b);

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_SHAPES_H_
