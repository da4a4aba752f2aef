// Numbering: gives values and nodes of several graphs numbers, so that equal
// ones (the same op with equal inputs and attributes) have equal numbers. Keys
// are written out and interned, so equality is exact and does not depend on
// hashes. Used only by equivalent.cc. Borrows the graphs; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"
#include "core/ops/op_facts.h"

namespace ruleengine::text {

using Number = std::uint32_t;

// One graph and the numbers of its nodes and values.
struct Side {
  const ir::Model* model = nullptr;
  const ir::Graph* graph = nullptr;

  std::vector<ir::NodeId> nodes;      // in topological order, no Constants
  std::vector<Number> node_numbers;   // of `nodes`
  std::vector<Number> value_numbers;  // by ValueId; 0: not numbered
};

// An attribute that is not at its default, with its value as text.
struct AttributeText {
  std::string_view name;
  std::string key;  // equal for equal values
};

class Numbering {
 public:
  // Fills the lists of `side`.
  Status run(Side& side);

  // The attributes of `node` that are not at their default, sorted by name.
  std::vector<AttributeText> attributes(Side& side, ir::NodeId node);
  // The inputs without absent ones at the end; sorted if their order does not
  // matter.
  std::vector<Number> inputs(Side& side, ir::NodeId node);
  // The number of outputs, without unread optional ones at the end.
  static std::size_t output_count(const Side& side, ir::NodeId node);
  Number value(Side& side, ir::ValueId value);

 private:
  struct Constant {
    const ir::Literal* tensor;
    const ir::Model* model;
    Number number;
  };

  Number intern(const std::string& key);
  void number_inputs(Side& side);
  void number_node(Side& side, ir::NodeId node);
  bool number_constant(Side& side, ir::NodeId node);
  Number constant(const ir::Model& model, const ir::Literal& tensor);
  std::string attribute_key(Side& side, const ir::Attribute& a);
  std::string block_key(Side& side, ir::BlockId block);

  std::unordered_map<std::string, Number> numbers_;
  std::unordered_map<std::string, std::vector<Constant>> constants_;
  Arena arena_;  // tensors made of Constant nodes
};

}  // namespace ruleengine::text
