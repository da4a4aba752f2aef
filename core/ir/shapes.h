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
std::optional<Dim> broadcast_dim(DimTable& dims, Dim a, Dim b);

// ONNX's multidirectional broadcasting; none when any axis is unknown.
std::optional<std::vector<Dim>> broadcast(DimTable& dims,
                                          std::span<const Dim> a,
                                          std::span<const Dim> b);

// Whether `shape` provably broadcasts to exactly `target` (unidirectional).
bool fits(std::span<const Dim> shape, std::span<const Dim> target);

// Product of all dimensions; 1 for a scalar.
Dim element_count(DimTable& dims, std::span<const Dim> shape);

// The product when every dimension is known and it does not overflow; of a
// type, when that is a tensor's (nullptr: not known).
std::optional<std::int64_t> known_count(std::span<const Dim> shape);
std::optional<std::int64_t> known_count(const Type* type);

// `axis` in [-rank, rank) as an index from 0; none outside that range.
std::optional<std::size_t> place_of_axis(std::int64_t axis, std::size_t rank);

// "float[2,H,S]", "int64", "float[?]" where the rank is unknown, "other".
std::string type_text(const DimTable& dims, const Type& type);

// Same kind, element type and shape, Dims compared as expressions.
bool same_type(const Type& a, const Type& b);

}  // namespace ruleengine::ir
