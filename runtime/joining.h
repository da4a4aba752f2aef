// Joining: nodes that a backend computes as one become one node. Its op is one
// of the engine that no file should have, with an overload for each node, of
// which the model has a function: where all kernels decline the node, it runs
// the nodes that it was made of.
#pragma once

#include <memory>
#include <string_view>

#include "core/ir/model.h"
#include "runtime/op_choice.h"

namespace ruleengine::runtime {

// activation(alpha op(a) op(b) + row + sum), rounded once. Inputs: a, b, and,
// both optional, `row`, of the last axis of the product, and `sum`, of its
// shape, as far as shapes are known before a run. Attributes: transA, transB,
// alpha as Gemm has them; activation: "Relu", "Gelu" (by tanh) or none.
inline constexpr std::string_view kJoinedProduct = "JoinedProduct";
// a op(b) + row, where b is a constant matrix, in parts along the last axis,
// one output each. Inputs: a, b, `row`, which is optional, and the sizes of the
// parts, which are not read. Attributes: transB; parts: their sizes; rank: of
// a, as it must be.
inline constexpr std::string_view kJoinedSplit = "JoinedSplit";
// x * sigmoid(alpha * x), and the same times a second input.
inline constexpr std::string_view kJoinedSwish = "JoinedSwish";
inline constexpr std::string_view kJoinedSwiGlu = "JoinedSwiGLU";

// A copy of the model with what the first of the backends joins; nullptr where
// that is nothing. The model must outlive it. All nodes are in their newest
// form.
std::shared_ptr<const ir::Model> join(const ir::Model& model,
                                      const OpChoice& choice);

}  // namespace ruleengine::runtime
