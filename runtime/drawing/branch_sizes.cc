#include "runtime/drawing/branch_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

namespace ruleengine::runtime {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kMostNodes = 200;
constexpr std::int64_t kMostScanned = 64;
constexpr double kMostSize = 1e5;

bool is_comparison(std::string_view type) {
  return type == "Equal" || type == "Less" || type == "Greater" ||
         type == "LessOrEqual" || type == "GreaterOrEqual";
}

class Turns {
 public:
  Turns(ir::Model& model, ir::Facts& facts, const SizeOf& at)
      : graph_(model.graph), dims_(model.dims), facts_(facts), at_(at) {}

  std::vector<SizeOf> of(NodeId branching) {
    std::vector<ValueId> todo = {graph_.input(branching, 0)};
    std::set<ValueId> seen;
    for (std::size_t i = 0; i < todo.size() && i < kMostNodes; ++i) {
      const NodeId node = graph_.producer(todo[i]);
      if (!node) continue;
      if (is_comparison(graph_.op(node).type)) compare(node);
      for (const ir::Operand& each : graph_.inputs(node)) {
        if (each.value && seen.insert(each.value).second) {
          todo.push_back(each.value);
        }
      }
    }
    return std::move(out_);
  }

 private:
  void compare(NodeId node) {
    const auto a = one(node, 0), b = one(node, 1);
    if (!a || !b) return;
    const Dim difference = dims_.sub(*a, *b);
    if (difference.known()) return;
    for (const Dim leaf : dims_.leaves(difference)) {
      if (at_.contains(leaf)) turn(difference, leaf);
    }
  }

  std::optional<Dim> one(NodeId node, std::size_t slot) {
    const ValueId v = graph_.input(node, slot);
    const auto dims = v ? facts_.dims_of(v) : std::nullopt;
    if (!dims || dims->size() != 1) return std::nullopt;
    return (*dims)[0];
  }

  double value(Dim difference, Dim leaf, std::int64_t size) const {
    return dims_.value(difference, [&](Dim each) {
      if (each == leaf) return static_cast<double>(size);
      const auto it = at_.find(each);
      return it == at_.end() ? std::nan("") : static_cast<double>(it->second);
    });
  }

  // The first size with each sign that the difference does not have yet.
  void turn(Dim difference, Dim leaf) {
    const auto sign = [](double x) { return (x > 0) - (x < 0); };
    std::set<int> known = {sign(value(difference, leaf, at_.at(leaf)))};
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = 1; i <= kMostScanned; ++i) sizes.push_back(i);
    // Where it is a line, also its zero and what is beside it.
    const double start = value(difference, leaf, 0);
    const double slope = value(difference, leaf, 1) - start;
    const double zero = -start / slope;
    if (std::isfinite(zero) && zero >= 0 && zero < kMostSize) {
      const auto near = static_cast<std::int64_t>(zero);
      for (std::int64_t i = -1; i <= 2; ++i) sizes.push_back(near + i);
    }
    for (const std::int64_t size : sizes) {
      const double now = value(difference, leaf, size);
      if (size < 0 || std::isnan(now) || !known.insert(sign(now)).second) {
        continue;
      }
      out_.push_back({{leaf, size}});
    }
  }

  const ir::Graph& graph_;
  ir::DimTable& dims_;
  ir::Facts& facts_;
  const SizeOf& at_;
  std::vector<SizeOf> out_;
};

}  // namespace

std::vector<SizeOf> sizes_that_turn(ir::Model& model, ir::Facts& facts,
                                    NodeId branching, const SizeOf& at) {
  return Turns(model, facts, at).of(branching);
}

}  // namespace ruleengine::runtime
