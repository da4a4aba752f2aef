// Upgrade: reads nodes of older opsets as if written at the newest one (or at
// one in between), and writes newest forms at an older opset. Most changes are
// attributes that became inputs (axes, split, ratio, min and max, pads, ...),
// and Softmax, which flattened from its axis on before 13. Reading makes hidden
// constants: initializers without a name that are in no block's list, so they
// are saved only when an edit names and uses them. One Upgrades per Graph; not
// thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ir/by_op.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::ops {

// A node as a newer opset would have it. `readable` is false when that opset
// cannot express it.
struct NewestForm {
  std::vector<ir::ValueId> inputs;
  std::vector<ir::Attribute> attributes;
  bool readable = true;
};

class Upgrades {
  static constexpr std::int64_t kNewest =
      std::numeric_limits<std::int64_t>::max();

 public:
  // `opset`: the version of the standard domain that the graph's body imports.
  // `to`: the opset at which nodes are read.
  Upgrades(ir::Graph& graph, std::int64_t opset, std::int64_t to = kNewest);

  // False when nodes of this op read as they stand. Cheap.
  bool needed(ir::OpId op) const;
  // The same for a graph that imports the standard at `opset`.
  static bool needed(const ir::Op& op, std::int64_t opset);
  // `form` is overwritten. Facts give ranks and element types where needed.
  void view(ir::NodeId node, ir::Facts& facts, NewestForm& form);

 private:
  Upgrades(std::int64_t opset, std::int64_t to);
  bool reads_otherwise(const ir::Op& op) const;
  void view_moved(ir::NodeId node, ir::Facts& facts, NewestForm& form);
  bool has_old_mask(ir::NodeId node) const;
  ir::ValueId hidden(ir::NodeId node, int input, const ir::Literal& tensor,
                     const void* data);

  // Does the change made at opset `since` lie between the two opsets?
  bool crosses(std::int64_t since) const {
    return opset_ < since && since <= to_;
  }
  bool has_other_form(std::string_view type) const;
  void upgrade_gone(std::string_view type, NewestForm& form) const;

  ir::Graph* graph_;
  std::int64_t opset_;
  std::int64_t to_;
  // The hidden constant for a node's input slot, and the attribute data it was
  // made from (to notice that an edit replaced the attribute).
  std::map<std::pair<ir::NodeId, int>, std::pair<ir::ValueId, const void*>>
      hidden_;
  mutable ir::ByOp<std::uint8_t> needed_;  // 0: unknown yet, 1: no, 2: yes
};

// Was the op in ONNX Runtime's version of the standard domain before it was in
// the standard?
bool is_adopted(std::string_view type);

// The same node written at `opset`: inputs and attributes. A Diagnostic (kind
// kRule, no position) when that opset cannot express it, or when an input that
// becomes an attribute is not constant.
struct OlderForm {
  std::vector<ir::ValueId> inputs;
  std::vector<ir::Attribute> attributes;
};
Result<OlderForm> to_opset(const ir::Graph& graph, std::string_view domain,
                           std::string_view type,
                           std::vector<ir::ValueId> inputs,
                           std::vector<ir::Attribute> attributes,
                           std::int64_t opset, ir::Facts& facts);

}  // namespace ruleengine::ops
