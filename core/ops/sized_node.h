// SizedNode: a node whose sizes are numbers, for the rules of what a node
// costs; and Sizes, what the symbols in its types count as. Not thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/ops/node_view.h"

namespace ruleengine::ops {

// The sizes of one model, which must outlive them.
class Sizes {
 public:
  using Named = std::map<std::string, std::int64_t>;
  // Of a dimension without a given size.
  static constexpr std::int64_t kUsual = 64;

  Sizes(const ir::DimTable& dims, Named given)
      : dims_(dims), given_(std::move(given)) {}

  double of(ir::Dim d);
  // What names counted as, of those that were asked for.
  const Named& used() const { return used_; }

 private:
  double of_leaf(ir::Dim leaf);

  const ir::DimTable& dims_;
  Named given_, used_;
  std::unordered_map<std::uint32_t, double> known_;  // by the id of a Dim
};

class SizedNode {
 public:
  // Where a shape is unknown, or has no such axis; any arithmetic keeps it.
  static constexpr double kUnsized = std::numeric_limits<double>::quiet_NaN();

  // Borrows the node.
  SizedNode(const NodeView& of, Sizes& sizes) : node(of), sizes_(sizes) {}
  SizedNode(NodeView&&, Sizes&) = delete;

  const NodeView& node;

  // The elements of an input or output.
  double in(std::size_t i) const { return count(node.input(i)); }
  double out(std::size_t i) const { return count(node.output_type(i)); }
  // The size of an axis; negative ones count from the end.
  double in(std::size_t i, int axis) const { return size(node.input(i), axis); }
  double out(std::size_t i, int axis) const {
    return size(node.output_type(i), axis);
  }
  // Of any type.
  double count(const ir::Type* type) const;

  // Multiply-adds of attention: queries (input 0) times keys, and weights times
  // values, which give output 0. Heads may be packed into one axis.
  double attended(double keys) const {
    const double rows = out(0) / out(0, -1);
    return rows * keys * (in(0, -1) + out(0, -1));
  }

 private:
  double size(const ir::Type* type, int axis) const;

  Sizes& sizes_;
};

}  // namespace ruleengine::ops
