// Shapes of values whose rank is unknown.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/ops/op_family.h"
#include "core/rewrite/edits/same.h"

namespace ruleengine::rewrite {
namespace {

using ir::Dim;
using ir::ValueId;

constexpr std::int64_t kFirstBroadcast = 7;

// Values that are followed, and how deep; the others stand for themselves.
constexpr std::size_t kMostValues = 256;
constexpr int kMostDepth = 32;
// Nodes that are compared with those of another value.
constexpr int kMostNodes = 64;

// Ops besides elementwise ones whose first output has the shape of the first
// input.
constexpr std::array<std::string_view, 8> kLikeFirst = {
    "BatchNormalization", "Dropout", "Hardmax", "LayerNormalization",
    "LogSoftmax",         "Softmax", "CumSum",  "RMSNormalization"};

// The broadcast of the shapes of some values. With `last`, that is the size of
// the last axis, and the values say the others.
struct Term {
  std::set<ValueId> of;
  std::optional<Dim> last;

  bool operator==(const Term&) const = default;
};

class Terms {
 public:
  explicit Terms(const EditState& state)
      : state_(state), graph_(state.graph), facts_(state.facts) {}

  const Term& of(ValueId value, int depth) {
    const auto known = terms_.find(value);
    if (known != terms_.end()) return known->second;
    const bool ends = terms_.size() >= kMostValues || depth == kMostDepth;
    std::optional<Term> term;
    if (!ends) term = computed(value, depth + 1);
    return terms_.insert_or_assign(value, term ? *term : whole(value))
        .first->second;
  }

 private:
  // None where the op is not followed.
  std::optional<Term> computed(ValueId value, int depth) {
    const ir::NodeId node = graph_.producer(value);
    if (!node || !graph_.op(node).domain.empty()) return std::nullopt;
    const ir::Op& op = graph_.op(node);
    if (ops::op_family(op.domain, op.type) == ops::OpFamily::kElementwise) {
      return broadcast(node, depth);
    }
    if (op.type == "MatMul") return product(node, depth);
    if (op.type == "Split") return part(node, value, depth);
    const bool is_like_first =
        graph_.outputs(node)[0] == value &&
        std::ranges::find(kLikeFirst, op.type) != kLikeFirst.end();
    if (!is_like_first) return std::nullopt;
    return of(graph_.input(node, 0), depth);
  }

  // The shape of the value, or of one that is computed alike.
  Term whole(ValueId value) {
    const auto is_same = [&](ValueId other) {
      int left = kMostNodes;
      return same_computation(
          state_, other, value,
          [&](ir::NodeId, ir::NodeId) { return left-- > 0; });
    };
    const auto known = std::ranges::find_if(named_, is_same);
    if (known != named_.end()) return {{*known}, {}};
    named_.push_back(value);
    return {{value}, {}};
  }

  const ir::Type* shape(ValueId value) {
    const ir::Type* type = facts_.type(value);
    return type != nullptr && type->has_shape ? type : nullptr;
  }

  // With one size last, or none; not where operands have others.
  std::optional<Term> broadcast(ir::NodeId node, int depth) {
    Term all;
    bool unknown = false;  // the last size of some operand
    for (const ir::Operand& o : graph_.inputs(node)) {
      if (!o.value) continue;
      const ir::Type* type = shape(o.value);
      if (type != nullptr && type->rank() == 0) continue;
      Term term;
      if (type != nullptr && type->rank() == 1) {
        term.last = type->dims[0];
      } else {
        term = of(o.value, depth);
        unknown = unknown || !term.last;
      }
      if (term.last && all.last && *term.last != *all.last) {
        if (*all.last == Dim(1)) {
          all.last = term.last;
        } else if (*term.last != Dim(1)) {
          return std::nullopt;
        }
      } else if (term.last) {
        all.last = term.last;
      }
      all.of.insert(term.of.begin(), term.of.end());
    }
    if (unknown && all.last) return std::nullopt;
    return all;
  }

  // By a matrix.
  std::optional<Term> product(ir::NodeId node, int depth) {
    const ir::Type* matrix = shape(graph_.input(node, 1));
    if (matrix == nullptr || matrix->rank() != 2) return std::nullopt;
    Term term = of(graph_.input(node, 0), depth);
    term.last = matrix->dims[1];
    return term;
  }

  // Of the last axis, where the sizes of the parts are known.
  std::optional<Term> part(ir::NodeId node, ValueId value, int depth) {
    const ir::Attribute* axis = graph_.attribute(node, "axis");
    if (axis == nullptr || axis->i != -1) return std::nullopt;
    const auto outputs = graph_.outputs(node);
    const auto place = static_cast<std::size_t>(
        std::ranges::find(outputs, value) - outputs.begin());
    std::optional<Dim> size;
    const ir::Attribute* sizes = graph_.attribute(node, "split");
    if (sizes != nullptr && place < sizes->ints.size()) {
      size = Dim(sizes->ints[place]);
    } else if (const ValueId input = graph_.input(node, 1)) {
      const auto dims = facts_.dims_of(input);
      if (dims && place < dims->size()) size = (*dims)[place];
    }
    if (!size) return std::nullopt;
    Term term = of(graph_.input(node, 0), depth);
    term.last = size;
    return term;
  }

  const EditState& state_;
  const ir::Graph& graph_;
  ir::Facts& facts_;
  std::map<ValueId, Term> terms_;
  std::vector<ValueId> named_;  // by terms, none computed as another is
};

}  // namespace

bool same_shape_by_ops(const EditState& state, ValueId a, ValueId b) {
  // Older elementwise ops have attributes that say how they broadcast.
  if (state.workspace->opset("") < kFirstBroadcast) return a == b;
  Terms terms(state);
  return terms.of(a, 0) == terms.of(b, 0);
}

}  // namespace ruleengine::rewrite
