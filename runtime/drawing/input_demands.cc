#include "runtime/drawing/input_demands.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "core/ir/shapes.h"
#include "core/ops/op_row.h"

namespace ruleengine::runtime {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kMostDemands = 400;

class Demands {
 public:
  Demands(ir::Model& model, ir::Facts& facts)
      : graph_(model.graph), dims_(model.dims), facts_(facts) {}

  std::vector<SizeDemand> all() {
    for (const NodeId node : graph_.live_nodes()) {
      if (out_.size() < kMostDemands) look(node);
    }
    return std::move(out_);
  }

 private:
  using Kind = SizeDemand::Kind;
  using Shape = std::span<const Dim>;

  std::optional<Shape> shape(NodeId node, std::size_t slot) {
    const ValueId v = graph_.input(node, slot);
    const ir::Type* type = v ? facts_.type(v) : nullptr;
    if (!ir::is_ranked(type)) return std::nullopt;
    return type->dims;
  }

  void add(Kind kind, Dim what, Dim by = Dim()) {
    const SizeDemand demand{kind, what, by};
    if (seen_.insert(demand).second) out_.push_back(demand);
  }

  void equal(Dim a, Dim b) {
    if (a == b || (a.known() && b.known())) return;
    if (!is_of_names(a) || !is_of_names(b)) return;
    add(Kind::kZero, dims_.sub(a, b));
  }

  void broadcast(Dim a, Dim b) {
    if (a.known()) std::swap(a, b);
    if (a.known() || a == b || b == Dim(1)) return;
    if (b.known()) {
      if (is_of_names(a)) add(Kind::kOneOf, a, b);
    } else {
      equal(a, b);
    }
  }

  void divides(Dim by, Dim what) {
    if (what.known() || !is_of_names(what) || !is_of_names(by)) return;
    if (by == Dim(0) || by == Dim(1) || dims_.exact_div(what, by)) return;
    add(Kind::kDivided, what, by);
  }

  bool is_of_names(Dim d) const { return d.known() || !dims_.is_fresh(d); }

  void look(NodeId node) {
    const ir::Op& op = graph_.op(node);
    if (ops::roles_of(op).broadcasts) broadcast_all(node);
    const ops::OpRow* row = ops::find_row(op);
    if (op.standard("Gemm")) {
      gemm(node);
    } else if (row != nullptr && row->factors.known) {
      product(node, row->factors.left, row->factors.right);
    } else if (op.standard("Concat")) {
      concat(node);
    } else if (op.standard("Reshape")) {
      reshape(node);
    } else if (op.standard("Split")) {
      split(node);
    } else if (op.standard("Expand")) {
      expand(node);
    } else if (op.standard("Conv")) {
      convolution(node);
    } else if (op.standard("Attention")) {
      attention(node);
    }
  }

  // The axes of the two from the last one, but for so many.
  void aligned(Shape a, Shape b, std::size_t without = 0) {
    for (std::size_t i = without; i < std::min(a.size(), b.size()); ++i) {
      broadcast(a[a.size() - 1 - i], b[b.size() - 1 - i]);
    }
  }

  void broadcast_all(NodeId node) {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < graph_.inputs(node).size(); ++i) {
      if (const auto own = shape(node, i)) shapes.push_back(*own);
    }
    for (std::size_t i = 1; i < shapes.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) aligned(shapes[k], shapes[i]);
    }
  }

  void product(NodeId node, std::size_t left, std::size_t right) {
    const auto a = shape(node, left), b = shape(node, right);
    if (!a || !b || a->empty() || b->empty()) return;
    equal(a->back(), b->size() == 1 ? b->back() : (*b)[b->size() - 2]);
    aligned(*a, *b, 2);
  }

  void gemm(NodeId node) {
    const auto a = shape(node, 0), b = shape(node, 1);
    if (!a || !b || a->size() != 2 || b->size() != 2) return;
    equal((*a)[attribute(node, "transA") != 0 ? 0 : 1],
          (*b)[attribute(node, "transB") != 0 ? 1 : 0]);
  }

  std::int64_t attribute(NodeId node, std::string_view name,
                         std::int64_t otherwise = 0) const {
    const ir::Attribute* a = graph_.attribute(node, name);
    return a == nullptr ? otherwise : a->i;
  }

  void concat(NodeId node) {
    const auto first = shape(node, 0);
    if (!first) return;
    const auto axis = ir::place_of_axis(attribute(node, "axis"), first->size());
    for (std::size_t i = 1; i < graph_.inputs(node).size(); ++i) {
      const auto own = shape(node, i);
      if (!own || own->size() != first->size()) continue;
      for (std::size_t k = 0; k < own->size(); ++k) {
        if (k != axis) equal((*first)[k], (*own)[k]);
      }
    }
  }

  void reshape(NodeId node) {
    const auto from = shape(node, 0);
    const ValueId target = graph_.input(node, 1);
    const auto to = target ? facts_.dims_of(target) : std::nullopt;
    if (!from || !to) return;
    const Dim all = ir::element_count(dims_, *from);
    Dim kept(1);
    bool has_rest = false;
    for (std::size_t i = 0; i < to->size(); ++i) {
      Dim each = (*to)[i];
      if (each == Dim(0) && i < from->size() &&
          attribute(node, "allowzero") == 0) {
        each = (*from)[i];
      }
      if (each == Dim(-1)) {
        has_rest = true;
      } else {
        kept = dims_.mul(kept, each);
      }
    }
    if (has_rest) {
      divides(kept, all);
    } else {
      equal(all, kept);
    }
  }

  void split(NodeId node) {
    const auto from = shape(node, 0);
    if (!from) return;
    const auto axis = ir::place_of_axis(attribute(node, "axis"), from->size());
    if (!axis) return;
    const ValueId sizes = graph_.input(node, 1);
    if (!sizes) {
      const auto count = static_cast<std::int64_t>(graph_.outputs(node).size());
      divides(Dim(count), (*from)[*axis]);
      return;
    }
    const auto parts = facts_.dims_of(sizes);
    if (!parts) return;
    Dim sum;
    for (const Dim each : *parts) sum = dims_.add(sum, each);
    equal((*from)[*axis], sum);
  }

  void expand(NodeId node) {
    const auto from = shape(node, 0);
    const ValueId target = graph_.input(node, 1);
    const auto to = target ? facts_.dims_of(target) : std::nullopt;
    if (from && to) aligned(*from, *to);
  }

  // A filter reads the channels of its group.
  void convolution(NodeId node) {
    const auto x = shape(node, 0), w = shape(node, 1);
    if (!x || !w || x->size() < 3 || w->size() < 3) return;
    equal((*x)[1], dims_.mul((*w)[1], Dim(attribute(node, "group", 1))));
  }

  // Keys and values are as long as each other.
  void attention(NodeId node) {
    const auto k = shape(node, 1), v = shape(node, 2);
    if (!k || !v || k->size() != v->size() || k->size() < 3) return;
    for (std::size_t i = 0; i + 1 < k->size(); ++i) equal((*k)[i], (*v)[i]);
  }

  const ir::Graph& graph_;
  ir::DimTable& dims_;
  ir::Facts& facts_;
  std::vector<SizeDemand> out_;
  std::set<SizeDemand> seen_;
};

}  // namespace

std::vector<SizeDemand> size_demands(ir::Model& model, ir::Facts& facts) {
  return Demands(model, facts).all();
}

}  // namespace ruleengine::runtime
