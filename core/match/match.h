// Match: one complete fit of one pattern in one graph. A plain value: ids and
// pointers into the graph, valid until the graph is edited.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/small_vector.h"
#include "core/ir/attribute.h"
#include "core/ir/graph.h"
#include "core/pattern/pattern.h"

namespace ruleengine::match {

// What one variable is bound to.
struct Bound {
  enum class Kind : std::uint8_t {
    kNothing,    // not bound on the way taken, or an absent input
    kValue,      // `value`; `transposed`: the constant whose transpose it is
    kNode,       // `node`
    kDim,        // `dim`
    kAttribute,  // `attribute` (with the schema's default filled in)
    kList,       // `list`
    kRecord,     // a step of `many`: `list` is by Variable::fields of its name
  };
  Kind kind = Kind::kNothing;
  bool transposed = false;
  ir::ValueId value;
  ir::NodeId node;
  ir::Dim dim;
  const ir::Attribute* attribute = nullptr;
  std::vector<Bound> list;

  bool operator==(const Bound&) const = default;
};

// An attribute of a matched node that is not at its default and that the
// pattern, which allows any attributes there, does not name.
struct Unnamed {
  ir::NodeId node;
  pattern::NodePatternId pattern;
  const ir::Attribute* attribute = nullptr;

  bool operator==(const Unnamed& other) const {
    return node == other.node && pattern == other.pattern &&
           attribute->name == other.attribute->name;
  }
};

struct Match {
  std::uint32_t rule = 0;               // index of the pattern in the program
  ir::NodeId root;                      // the node of the first result
  std::vector<Bound> bound;             // by VariableId
  SmallVector<ir::NodeId, 8> nodes;     // by NodePatternId; invalid: not taken
  SmallVector<ir::NodeId, 8> consumed;  // ascending, each once
  SmallVector<ir::ValueId, 2> results;  // the values to be replaced
  std::vector<Unnamed> unnamed;         // by node and name, each once

  bool operator==(const Match&) const = default;
};

// How far an attempt got, for explain: the deepest failing test.
struct Miss {
  std::uint32_t rule = 0;
  ir::NodeId root;          // where the attempt started
  std::uint32_t depth = 0;  // node patterns that fitted before
  // At that depth: the root's op is wrong, or some test failed, or a test
  // failed at a node whose op is right.
  enum class Nearness : std::uint8_t { kNoRoot, kSome, kOpFits };
  Nearness nearness = Nearness::kSome;
  std::pair<std::uint32_t, Nearness> how_far() const {
    return {depth, nearness};
  }
  ir::NodeId node;  // the node (or else the value) at fault
  ir::ValueId value;
  int line = 0;      // of the rule file
  std::string test;  // "op of input 1", "shape of q", "readers of p"
  std::string expected, found;
};

}  // namespace ruleengine::match
