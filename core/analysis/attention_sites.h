// Attention in a graph, whoever wrote it: a softmax of scores, which are the
// product of two computed values, whose result weighs values in another
// product. The softmax may be spelled as a quotient or as the exponential of a
// LogSoftmax, and any op that multiplies matrices is a product, quantized or
// not. Found by walking, without a rule, so that what rules compose can be held
// against what is there. No state; nothing here fails.
#ifndef RULEENGINE_CORE_ANALYSIS_ATTENTION_SITES_H_
#define RULEENGINE_CORE_ANALYSIS_ATTENTION_SITES_H_

#include <optional>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::analysis {

struct AttentionSite {
  ir::NodeId softmax;  // or the quotient or exponential in its place
  ir::NodeId product;  // of the probabilities and the values
  // What else needs the probabilities: a node, or the model as an output.
  std::optional<ir::NodeId> reader;
  bool is_output = false;
  // One of its products, or the softmax, is computed in integers.
  bool quantized = false;
};

// In the order of nodes; all blocks of the graph are looked at.
std::vector<AttentionSite> attention_sites(const ir::Graph& graph,
                                           ir::Facts& facts);

// Is this op attention as a whole, in any of the domains that have it?
bool is_attention(const ir::Op& op);

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_ATTENTION_SITES_H_
