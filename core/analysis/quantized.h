// Finds nodes that a runtime computes on integers although their types are
// floats: an op between DequantizeLinear and QuantizeLinear becomes one integer
// op, and a product with a dequantized weight reads the integers. A rewrite
// that treats such a node as one of floats would undo that. Pure functions of
// the graph and its types; no state.
#pragma once

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::analysis {

// QuantizeLinear or DequantizeLinear, of the standard or ONNX Runtime's own.
bool is_quantizer(const ir::Op& op);

// The DequantizeLinear that `v` comes from through views; an invalid id when
// there is none within 64 nodes.
ir::NodeId dequantizer(const ir::Graph& graph, ir::ValueId v);

// Whether the model has DequantizeLinear at all: if not, no node is quantized.
// Cheap.
bool may_be_quantized(const ir::Model& model);

// Whether the node is a standard op that runtimes have for integers, its float
// inputs are dequantized or constant, and
// - all readers of its result are QuantizeLinear (not needed for a product), or
// - it is a product of anything with a dequantized constant.
// Views may be between these nodes, and Relu and Clip after the op.
bool is_quantized(const ir::Graph& graph, ir::Facts& facts, ir::NodeId node);

}  // namespace ruleengine::analysis
