// Finds attention in a graph, in whatever form: a softmax of scores, which are
// the product of two computed values; its result is a factor of another
// product, with the values. The softmax may also be a quotient or the
// exponential of a LogSoftmax, and a product may be any op that multiplies
// matrices, quantized or not. Found by walking the graph, without rules, so
// that the number of composed blocks can be compared with the number of blocks.
// Stateless; nothing here fails.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::analysis {

struct AttentionSite {
  ir::NodeId softmax;  // or the quotient or exponential that computes it
  ir::NodeId product;  // of the probabilities and the values
  // Another reader of the probabilities: a node, or the model (an output).
  std::optional<ir::NodeId> reader;
  bool is_output = false;
  // Whether one of the products, or the softmax, is computed in integers.
  bool quantized = false;
};

// In the order of nodes, in all blocks of the graph.
std::vector<AttentionSite> attention_sites(const ir::Graph& graph,
                                           ir::Facts& facts);

}  // namespace ruleengine::analysis
