// What the rules for types share. Internal to core/ops.
#pragma once

#include <cstddef>
#include <vector>

#include "core/ir/shapes.h"
#include "core/ops/op_row.h"

namespace ruleengine::ops {

// The type of input `i`, as far as it is known.
void copy_type(const NodeView& v, std::size_t i, Inferred& out);

// None of them is kUnknown, which is no size to count with.
bool all_known(std::span<const ir::Dim> dims);

// Refuses the node where two sizes that must be one provably are not.
void need_equal(const NodeView& v, ir::Dim a, ir::Dim b, std::string_view why);

// Refuses the node where the input is known to have another rank.
void need_rank(const NodeView& v, std::size_t input, std::size_t rank,
               std::string_view why);

// One axis of a broadcast, with one unknown for each pair that cannot be said.
ir::Dim broadcast_axis(const NodeView& v, ir::Dim a, ir::Dim b);

// The broadcast of two shapes.
Dims broadcast_shapes(const NodeView& v, std::span<const ir::Dim> a,
                      std::span<const ir::Dim> b);

// The rule of many ops: the first output is like the first input.
bool like_first(const NodeView& v, Outputs out);

// The same with the element type of the second input.
bool like_first_cast(const NodeView& v, Outputs out);

// Sets the shape to the broadcast of inputs [from, to), if all have a rank.
void set_broadcast(const NodeView& v, std::size_t from, std::size_t to,
                   Inferred& out);

// The element type of the first input, and the broadcast of all. False before
// opset 7, where broadcasting was an attribute.
bool broadcast_all(const NodeView& v, Outputs out);

// What both say: the axes in which they agree, when the ranks do.
void meet(const ir::Type* a, const ir::Type* b, Inferred& out);

// Sizes that are written. The lowest integers, which a Dim does not hold, are
// alike.
std::vector<ir::Dim> dims_of(std::span<const std::int64_t> sizes);

// The shape that input `i` says: its elements, or as many unknown sizes as it
// has.
std::optional<std::vector<ir::Dim>> shape_said(const NodeView& v,
                                               std::size_t i);

}  // namespace ruleengine::ops
