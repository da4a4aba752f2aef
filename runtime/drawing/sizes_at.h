// Symbolic dimensions of inputs as numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/ir/model.h"

namespace ruleengine::runtime {

using SizeOf = std::map<ir::Dim, std::int64_t>;  // of leaves

// What an expression is at these sizes; nullopt where it has a leaf of no known
// size.
std::optional<double> value_at(const ir::DimTable& dims, ir::Dim d,
                               const SizeOf& sizes);
// The size of a dimension that may be an expression, such as past + 1; -1 where
// it has a leaf of no known size.
std::int64_t size_at(const ir::DimTable& dims, ir::Dim d, const SizeOf& sizes);

// The product of the dimensions of a tensor.
double elements_at(const ir::DimTable& dims, const ir::Type& type,
                   const SizeOf& sizes);

// Inputs beyond it are not drawn just to try their sizes.
inline constexpr double kMostInputBytes = 64 << 20;
// Bytes that the inputs have at these sizes, without strings.
double bytes_of_inputs(const ir::Model& model, const SizeOf& sizes);

}  // namespace ruleengine::runtime
