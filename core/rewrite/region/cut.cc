#include "core/rewrite/region/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/ir/data_type.h"
#include "core/ops/op_facts.h"
#include "core/rewrite/edits/same.h"
#include "core/rewrite/edits/workspace.h"
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
    const auto old = weights(Side::kBefore), now = weights(Side::kAfter);
    out_.has_weights = !old.empty() || !now.empty();
    out_.is_general =
        options_.generalizes && std::ranges::all_of(now, [&](ValueId v) {
          return std::ranges::find(old, v) != old.end();
        });
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
    if (type == nullptr || !type->is_tensor() || !type->has_shape ||
        type->rank() > 1 ||
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

  // Whether all that the producer of a value reads are constants. (Facts would
  // compute what they are asked for, and then keep it.)
  bool is_folded(ValueId v) const {
    return std::ranges::all_of(
        graph_.inputs(graph_.producer(v)), [&](const ir::Operand& o) {
          return !o.value || graph_.direct_constant(o.value) != nullptr;
        });
  }

  // Whether rules look through the value.
  bool is_small(ValueId v) const {
    if (is_folded(v)) return true;
    const ir::Type* const type = region_.facts.type(v);
    if (type == nullptr || !type->is_tensor() || !type->has_shape) return false;
    if (!ir::is_float(type->elem) && type->rank() <= 1) return true;
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
      const bool is_free =
          is_core(node) || inside_.contains(node) || is_small(v);
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
      if (is_known && !(out_.is_general && is_weight(v))) return;
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
    const auto meet = [&](ValueId v) {
      if (is_weight(v) && std::ranges::find(out, v) == out.end()) {
        out.push_back(v);
      }
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

// The text that tells cuts apart: the terms that each side computes, each once.
class Key {
 public:
  Key(const Region& region, const Cut& cut)
      : region_(region), graph_(region.graph), cut_(cut) {}

  // Sets the key, and whether both sides are the same terms.
  void write(Cut& out) {
    for (const ValueId v : cut_.inputs) {
      refs_[v] = fmt::format("i{}", refs_.size());
      put(out_, region_.facts.type(v));
    }
    for (const auto& [v, elements] : cut_.known) {
      std::string text = "k";
      put(text, region_.facts.type(v));
      put_all(text, std::span(elements));
      refs_[v] = std::move(text);
    }
    for (const NodeId n : cut_.before) add(n, Side::kBefore);
    std::vector<std::string> before, after;
    for (const Region::Result& r : region_.results) {
      before.push_back(ref(r.before));
    }
    for (const NodeId n : cut_.after) add(n, Side::kAfter);
    for (const Region::Result& r : region_.results) {
      after.push_back(ref(r.after));
    }
    for (const auto& each : before) put(out_, each);
    for (const auto& each : after) put(out_, each);
    out.is_same = before == after;
    out.key = std::move(out_);
  }

 private:
  static void put(std::string& to, std::string_view text) {
    put(to, text.size());
    to += text;
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  static void put(std::string& to, T number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  template <class T>
  static void put_all(std::string& to, std::span<const T> all) {
    put(to, all.size());
    for (const T& each : all) put(to, each);
  }
  static std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void put(std::string& to, const ir::Type* type) {
    if (type == nullptr) return put(to, '?');
    put(to, type->kind);
    put(to, type->elem);
    put(to, text_of(type->other));
    if (!type->is_tensor()) return;
    put(to, type->has_shape);
    put(to, type->dims.size());
    const ir::DimTable& dims = graph_.model().dims;
    for (const ir::Dim own : type->dims) {
      const auto equal = cut_.sizes.find(own);
      const ir::Dim d = equal != cut_.sizes.end() ? equal->second : own;
      // Unknown sizes of two layers are not the same.
      const bool is_own = !d.known() && dims.is_single(d) && dims.is_fresh(d);
      put(to, is_own);
      const auto number = [&] {
        return sizes_.emplace(d, sizes_.size()).first->second;
      };
      put(to, is_own      ? static_cast<std::int64_t>(number())
              : d.known() ? d.size()
                          : -1 - static_cast<std::int64_t>(d.id()));
    }
  }

  void put(std::string& to, const ir::Literal& tensor) {
    const std::string known = key_of(tensor, graph_.model().external.get());
    if (!known.empty()) return put(to, std::string_view(known));
    put(to, reinterpret_cast<std::uintptr_t>(&tensor));
  }

  std::string ref(ValueId v) {
    if (!v) return "-";
    if (const auto it = refs_.find(v); it != refs_.end()) return it->second;
    std::string text;
    const ir::Value& value = graph_.value(v);
    if (value.tensor != nullptr) put(text, *value.tensor);
    return "c" + text;
  }

  // The outputs of equal nodes are the same terms.
  void add(NodeId n, Side side) {
    const std::string text = term(n, side);
    const auto [it, is_new] = terms_.emplace(text, terms_.size());
    if (is_new) put(out_, std::string_view(text));
    std::size_t i = 0;
    for (const ValueId v : graph_.outputs(n)) {
      if (v) refs_[v] = fmt::format("t{}.{}", it->second, i);
      ++i;
    }
  }

  // Two nodes that draw random numbers, or may do anything, differ.
  bool is_pure(const ir::Op& op) const {
    return ops::find_op(op.domain, op.type,
                        static_cast<int>(graph_.opset(op.domain))) != nullptr &&
           !is_random(op.type) && graph_.model().find_function(op) == nullptr;
  }

  std::string term(NodeId n, Side side) {
    const ir::Op& op = graph_.op(n);
    std::string to;
    put(to, op.domain);
    put(to, op.type);
    put(to, op.overload);
    if (!is_pure(op)) {
      put(to, impure_.emplace(n, impure_.size()).first->second);
    }
    const std::size_t count = graph_.inputs(n).size();
    put(to, count);
    for (std::size_t i = 0; i < count; ++i) {
      put(to, std::string_view(ref(region_.input(n, i, side))));
    }
    put(to, graph_.node(n).attributes.size());
    for (const ir::Attribute& a : graph_.node(n).attributes) put(to, a, side);
    put(to, graph_.outputs(n).size());
    return to;
  }

  void put(std::string& to, const ir::Attribute& a, Side side) {
    put(to, a.name);
    put(to, a.kind);
    put(to, a.f);
    put(to, a.i);
    put(to, a.s);
    put(to, a.ref);
    put_all(to, a.floats);
    put_all(to, a.ints);
    put_all(to, a.strings);
    put(to, a.tensors.size());
    for (const ir::Literal* each : a.tensors) put(to, *each);
    put(to, a.blocks.size());
    for (const ir::BlockId b : a.blocks) put(to, b, side);
    if (a.kind >= ir::AttributeKind::kSparseTensor) put(to, text_of(a.proto));
  }

  void put(std::string& to, ir::BlockId body, Side side) {
    const ir::Block& block = graph_.block(body);
    for (const ValueId v : block.inputs) {
      refs_[v] = fmt::format("b{}", refs_.size());
      put(to, std::string_view(refs_[v]));
      put(to, graph_.value(v).declared);
    }
    for (const NodeId n : nodes_of(graph_, body, [&](NodeId each) {
           return region_.has(each, side);
         }))
      add(n, side);
    const auto outputs = region_.outputs(body, side);
    put(to, outputs.size());
    for (const ValueId v : outputs) put(to, std::string_view(ref(v)));
  }

  const Region& region_;
  const ir::Graph& graph_;
  const Cut& cut_;
  std::string out_;
  std::unordered_map<ValueId, std::string> refs_;
  std::unordered_map<std::string, std::size_t> terms_;
  std::unordered_map<NodeId, std::size_t> impure_;
  std::map<ir::Dim, std::size_t> sizes_;
};

}  // namespace

Cut cut(const Region& region, const CutOptions& options) {
  Cut out = Cutting(region, options).run();
  Key(region, out).write(out);
  return out;
}

}  // namespace ruleengine::rewrite
