// Nodes that a runtime computes on integers although the graph says floats:
// what DequantizeLinear and QuantizeLinear stand around becomes one integer op,
// and a product with a dequantized weight reads the integers. A rewrite that
// takes such a node for one of floats takes that away. Pure functions of the
// graph and its types; nothing is kept.
#ifndef RULEENGINE_CORE_ANALYSIS_QUANTIZED_H_
#define RULEENGINE_CORE_ANALYSIS_QUANTIZED_H_

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::analysis {

// QuantizeLinear or DequantizeLinear, of the standard or ONNX Runtime's own.
bool is_quantizer(const ir::Op& op);

// Whether the model names DequantizeLinear at all: where it does not, no node
// is quantized. Cheap.
bool may_be_quantized(const ir::Model& model);

// Is the node of the standard, one that runtimes have for integers, and are
// its floats dequantized or constant, and
// - all that read its result QuantizeLinear (but a product needs none of them),
// - or is it a product of anything with a dequantized constant?
// Views may stand between, and Relu and Clip behind it.
bool is_quantized(const ir::Graph& graph, ir::Facts& facts, ir::NodeId node);

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_QUANTIZED_H_
