#include "core/rewrite/cut.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/ir/data_type.h"
#include "core/rewrite/region/reads.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using Side = Region::Side;

constexpr std::int64_t kSmall = 64;   // elements that rules look through
constexpr std::int64_t kLarge = 256;  // elements of weights

class Cutting {
 public:
  Cutting(const Region& region, const CutOptions& options)
      : region_(region), graph_(region.graph), options_(options) {}

  Cut run() {
    gather(Side::kBefore);
    gather(Side::kAfter);
    find_weights();
    out_.before = order(Side::kBefore);
    out_.after = order(Side::kAfter);
    equate_sizes();
    out_.is_whole = std::ranges::none_of(
        out_.inputs, [&](ValueId v) { return bool(graph_.producer(v)); });
    return std::move(out_);
  }

 private:
  bool is_core(NodeId node) const {
    return region_.is_new(node) ||
           std::ranges::binary_search(region_.nodes, node);
  }

  // The elements of a small integer tensor, if all follow from types.
  const std::optional<std::vector<std::int64_t>>& elements(ValueId v) {
    const auto [it, is_new] = elements_.try_emplace(v);
    if (!is_new) return it->second;
    const ir::Type* const type = region_.facts.type(v);
    if (!ir::is_ranked(type) || type->rank() > 1 ||
        (type->elem != ir::DataType::kInt64 &&
         type->elem != ir::DataType::kInt32)) {
      return it->second;
    }
    const auto dims = region_.facts.dims_of(v);
    if (dims && std::ranges::all_of(*dims, &ir::Dim::known)) {
      it->second.emplace();
      for (const ir::Dim d : *dims) it->second->push_back(d.size());
    }
    return it->second;
  }

  // Whether all that the producer of a value reads are constants.
  bool is_folded(ValueId v) const {
    return std::ranges::all_of(
        graph_.inputs(graph_.producer(v)), [&](const ir::Operand& o) {
          return !o.value || graph_.direct_constant(o.value) != nullptr;
        });
  }

  // Whether rules look through the value.
  bool is_small(ValueId v) const {
    if (ops::facts_of(graph_, graph_.producer(v)) == nullptr) return false;
    if (is_folded(v)) return true;
    const ir::Type* const type = region_.facts.type(v);
    if (!ir::is_ranked(type)) return false;
    if (!ir::is_float(type->elem) && type->rank() <= 1) return true;
    if (!options_.looks_through) return false;
    std::int64_t count = 1;
    for (const ir::Dim d : type->dims) {
      if (!d.known() || d.size() > kSmall) return false;
      count *= d.size();
    }
    return count <= kSmall;
  }

  ValueId result(std::size_t i, Side side) const {
    const Region::Result& r = region_.results[i];
    return side == Side::kBefore ? r.before : r.after;
  }

  // Puts the nodes of one side into the cut, those nearby first.
  void gather(Side side) {
    struct Visit {
      NodeId node;
      std::size_t steps;
    };
    std::deque<Visit> todo;
    std::unordered_map<NodeId, std::size_t> best;
    const auto reach = [&](ValueId v, std::size_t steps) {
      const NodeId node = graph_.producer(v);
      if (!node) return;
      if (!is_core(node) && elements(v)) return;
      const bool is_free = is_core(node) || is_small(v);
      if (!is_free && steps >= options_.steps) return;
      const std::size_t there = is_free ? steps : steps + 1;
      const auto [it, is_first] = best.emplace(node, there);
      if (!is_first && it->second <= there) return;
      it->second = there;
      is_free ? todo.push_front({node, there}) : todo.push_back({node, there});
    };
    for (std::size_t i = 0; i < region_.results.size(); ++i) {
      reach(result(i, side), 0);
    }
    while (!todo.empty()) {
      const Visit at = todo.front();
      todo.pop_front();
      if (best[at.node] < at.steps) continue;
      inside_.insert(at.node);
      for_each_read(region_, at.node, side,
                    [&](ValueId v) { reach(v, at.steps); });
    }
  }

  bool is_weight(ValueId v) const {
    const ir::Value& value = graph_.value(v);
    return value.kind == ir::ValueKind::kInitializer &&
           value.tensor != nullptr && ir::is_float(value.tensor->dtype) &&
           value.tensor->element_count() > kLarge;
  }

  // Decides whether the cut is general.
  void find_weights() {
    const auto old = weights(Side::kBefore), now = weights(Side::kAfter);
    // What puts weights together is written as ops of this opset.
    constexpr std::int64_t kOpset = 13;
    if (options_.generalizes) {
      for (const ValueId v : old) {
        out_.weights.emplace(graph_.value(v).tensor, v);
      }
      out_.is_general = std::ranges::all_of(now, [&](ValueId v) {
        const ir::Literal& tensor = *graph_.value(v).tensor;
        return out_.weights.contains(&tensor) || is_zeros(tensor) ||
               (graph_.opset("") >= kOpset && is_made_of_inputs(tensor, out_));
      });
    }
    if (out_.is_general) return;
    out_.weights.clear();
    for (const auto* all : {&old, &now}) {
      for (const ValueId v : *all) {
        out_.weight_bytes += graph_.value(v).tensor->byte_size();
      }
    }
  }

  // Of two weights with the same data, one is an input.
  bool is_input(ValueId v) const {
    const auto it = out_.weights.find(graph_.value(v).tensor);
    return it != out_.weights.end() && it->second == v;
  }

  // The nodes of the cut that compute the results of one side; inputs are noted
  // as they are met.
  std::vector<NodeId> order(Side side) {
    std::vector<NodeId> out, todo;
    std::unordered_set<NodeId> done;
    const auto is_pending = [&](ValueId v) {
      const NodeId node = graph_.producer(v);
      return node && inside_.contains(node) && !done.contains(node);
    };
    const auto meet = [&](ValueId v) {
      const NodeId node = graph_.producer(v);
      if (node && inside_.contains(node)) return;
      const bool is_known = graph_.value(v).kind == ir::ValueKind::kInitializer;
      if (is_known && !is_input(v)) return;
      if (!met_.insert(v).second) return;
      if (node && elements(v)) {
        out_.known.emplace_back(v, *elements(v));
      } else {
        out_.inputs.push_back(v);
      }
    };
    for (std::size_t i = 0; i < region_.results.size(); ++i) {
      const ValueId v = result(i, side);
      meet(v);
      if (is_pending(v)) todo.push_back(graph_.producer(v));
      while (!todo.empty()) {
        const NodeId node = todo.back();
        const std::size_t before = todo.size();
        for_each_read(region_, node, side, [&](ValueId read) {
          if (is_pending(read)) todo.push_back(graph_.producer(read));
        });
        if (todo.size() > before) continue;
        todo.pop_back();
        if (!done.insert(node).second) continue;
        out.push_back(node);
        for_each_read(region_, node, side, meet);
      }
    }
    return out;
  }

  void equate_sizes() {
    const ir::DimTable& dims = graph_.model().dims;
    const auto axes = [&](ValueId v) {
      const ir::Type* const type = region_.facts.type(v);
      return type != nullptr && type->is_tensor() ? type->dims
                                                  : std::span<const ir::Dim>();
    };
    std::set<ir::Dim> all;
    const auto insert = [&](ValueId v) {
      const auto its = axes(v);
      all.insert(its.begin(), its.end());
    };
    for (const ValueId v : out_.inputs) insert(v);
    for (const auto* nodes : {&out_.before, &out_.after}) {
      for (const NodeId n : *nodes) {
        for (const ValueId v : graph_.outputs(n)) {
          if (v) insert(v);
        }
      }
    }
    for (const ValueId v : out_.inputs) {
      for (const ir::Dim d : axes(v)) {
        if (d.known() || !dims.is_single(d) || !dims.is_fresh(d)) continue;
        // Known sizes come last.
        for (const ir::Dim other : all) {
          const bool helps = other.known() || !dims.is_fresh(other);
          if (helps && region_.facts.is_same_size(d, other)) {
            out_.sizes[d] = other;
          }
        }
      }
    }
  }

  // The large weights that one side reads.
  std::vector<ValueId> weights(Side side) const {
    std::vector<ValueId> out;
    std::unordered_set<ValueId> met;
    const auto meet = [&](ValueId v) {
      if (is_weight(v) && met.insert(v).second) out.push_back(v);
    };
    std::vector<NodeId> todo;
    std::unordered_set<NodeId> done;
    const auto reach = [&](ValueId v) {
      meet(v);
      const NodeId node = graph_.producer(v);
      if (node && inside_.contains(node) && done.insert(node).second) {
        todo.push_back(node);
      }
    };
    for (std::size_t i = 0; i < region_.results.size(); ++i) {
      reach(result(i, side));
    }
    while (!todo.empty()) {
      const NodeId node = todo.back();
      todo.pop_back();
      for_each_read(region_, node, side, reach);
    }
    return out;
  }

  const Region& region_;
  const ir::Graph& graph_;
  const CutOptions& options_;
  std::unordered_set<NodeId> inside_;
  std::unordered_set<ValueId> met_;
  std::unordered_map<ValueId, std::optional<std::vector<std::int64_t>>>
      elements_;
  Cut out_;
};

}  // namespace

bool is_made_of_inputs(const ir::Literal& weight, const Cut& cut) {
  if (cut.weights.contains(&weight)) return true;
  return weight.lazy != nullptr && !cut.weights.empty() &&
         std::ranges::all_of(weight.lazy->parts, [&](const ir::LazyPart& part) {
           return is_made_of_inputs(*part.tensor, cut);
         });
}

Cut cut(const Region& region, const CutOptions& options) {
  Cut out = Cutting(region, options).run();
  write_key(region, out);
  return out;
}

}  // namespace ruleengine::rewrite
