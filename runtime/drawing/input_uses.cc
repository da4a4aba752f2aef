#include "runtime/drawing/input_uses.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/ops/op_row.h"
#include "runtime/drawing/input_slots.h"

namespace ruleengine::runtime {
namespace {

// Numbers from here on stand for scores that are hidden.
constexpr double kHiding = -1e3;

using ir::NodeId;
using ir::ValueId;

constexpr std::int64_t kMostNumbers = 64;    // of a constant that is met
constexpr std::size_t kMostFollowed = 4096;  // values, of one input
constexpr std::size_t kMostMet = 32;

// A graph that is looked at, and for a function's body the call of it.
struct Place {
  const ir::Graph* graph = nullptr;
  const Place* caller = nullptr;
  NodeId call;
  std::size_t depth = 0;
};

struct At {
  const Place* place;
  ValueId value;
  Line line;
  bool bounded = false;   // cut off before, so that no table limits the input
  bool is_whole = false;  // of an integer type
};

class FollowedUse {
 public:
  FollowedUse(const ir::Model& model, ir::Facts& facts)
      : model_(model), facts_(facts), main_{.graph = &model.graph} {}

  InputUse of(ValueId input) {
    const ir::Type* type = facts_.type(input);
    const bool is_whole =
        type != nullptr && type->is_tensor() && is_integer(type->elem);
    push({.place = &main_, .value = input, .line = {}, .is_whole = is_whole});
    for (std::size_t i = 0; i < todo_.size() && i < kMostFollowed; ++i) {
      look_around(todo_[i]);
    }
    std::ranges::sort(use_.met);
    const auto same = std::ranges::unique(use_.met);
    use_.met.erase(same.begin(), same.end());
    if (use_.met.size() > kMostMet) use_.met.resize(kMostMet);
    return std::move(use_);
  }

 private:
  void push(const At& at) {
    if (!at.value || !seen_.emplace(at.place, at.value).second) return;
    todo_.push_back(at);
  }

  void look_around(const At at) {
    const ir::Graph& graph = *at.place->graph;
    for (ir::OperandId u = graph.first_use(at.value); u;
         u = graph.next_use(u)) {
      const NodeId node = graph.operand(u).user;
      if (node) look(at, node, graph.operand_index(u));
    }
    if (graph.value(at.value).block_output_count > 0) leave_blocks(at);
  }

  void follow(const At& at, NodeId node, std::size_t output = 0) {
    move(at, at.place, at.place->graph->output(node, output));
  }

  // The same elements elsewhere.
  void move(At at, const Place* place, ValueId value) {
    at.place = place;
    at.value = value;
    push(at);
  }

  void follow_bounded(At at, NodeId node) {
    at.bounded = true;
    follow(at, node);
  }

  void look(const At& at, NodeId node, std::size_t slot) {
    const ir::Graph& graph = *at.place->graph;
    const ir::Op& op = graph.op(node);
    if (ir::Function* function = model_.find_function(op)) {
      return enter(at, node, slot, *function);
    }
    if (is_table(at, node, slot) || is_sizing(op, slot)) return;
    if (op.domain.empty() && of_standard(at, node, slot, op.type)) return;
    const ops::Roles roles = ops::roles_of(op);
    if ((roles.moves && slot == 0) || roles.joins) {
      for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) {
        follow(at, node, i);
      }
      return;
    }
    note_number(at);
    if (graph.inputs(node).size() != 1) return;
    // A number that an op has beside its only input may be a threshold.
    for (const ir::Attribute& a : graph.node(node).attributes) {
      if (a.kind == ir::AttributeKind::kFloat) meet(at, double{a.f});
    }
    // Functions change most around 0: Log(x - 10000).
    if (at.line.shift != 0) meet(at, 0);
  }

  bool is_sizing(const ir::Op& op, std::size_t slot) {
    if (!op.domain.empty() || slot > 31) return false;
    for (const Sizing& each : kSizings) {
      if (each.type == op.type && (each.slots >> slot & 1) != 0) {
        return use_.is_size = true;
      }
    }
    return false;
  }

  // --- tables ----------------------------------------------------------------

  bool is_table(const At& at, NodeId node, std::size_t slot) {
    const ir::Graph& graph = *at.place->graph;
    const ir::Op& op = graph.op(node);
    for (const Lookup& each : kLookups) {
      if (!op.is(each.domain, each.type) || each.slot != slot) continue;
      add_table(at, graph.input(node, each.data),
                attribute(at, node, "gather_axis", each.axis), 1, false);
      return true;
    }
    if (op.standard("OneHot") && slot == 0) {
      const auto depth = numbers(*at.place, graph.input(node, 1));
      use_.is_number = true;
      if (!depth.empty() && !at.bounded) {
        use_.tables.push_back({.size = static_cast<std::int64_t>(depth[0]),
                               .takes_negative = true,
                               .line = at.line});
      }
      return true;
    }
    if (!ops::roles_of(op).indexes || slot != 1) return false;
    std::int64_t axis = attribute(at, node, "axis", 0), axes = 1;
    if (op.standard("GatherND") || op.standard("ScatterND")) {
      axis = attribute(at, node, "batch_dims", 0);
      axes = 0;
      const ir::Type* type =
          at.place->caller == nullptr ? facts_.type(at.value) : nullptr;
      if (type != nullptr && type->has_shape && type->rank() > 0 &&
          type->dims.back().known()) {
        axes = type->dims.back().size();
      }
    }
    add_table(at, graph.input(node, 0), axis, axes, op.domain.empty());
    return true;
  }

  void add_table(const At& at, ValueId data, std::int64_t axis,
                 std::int64_t axes, bool takes_negative) {
    if (at.bounded) return;
    const auto [place, value] = outermost(*at.place, data);
    use_.tables.push_back({.data = place->caller == nullptr ? value : ValueId(),
                           .axis = axis,
                           .axes = axes,
                           .takes_negative = takes_negative,
                           .line = at.line});
  }

  // The value that a formal input of a function's body stands for.
  static std::pair<const Place*, ValueId> outermost(const Place& start,
                                                    ValueId value) {
    const Place* place = &start;
    while (place->caller != nullptr && value) {
      const auto& inputs = place->graph->block(ir::Graph::main_block()).inputs;
      const auto it = std::ranges::find(inputs, value);
      if (it == inputs.end()) break;
      value = place->caller->graph->input(
          place->call, static_cast<std::size_t>(it - inputs.begin()));
      place = place->caller;
    }
    return {place, value};
  }

  static std::int64_t attribute(const At& at, NodeId node,
                                std::string_view name, std::int64_t otherwise) {
    const ir::Attribute* a = at.place->graph->attribute(node, name);
    return a == nullptr ? otherwise : a->i;
  }

  // --- arithmetic ------------------------------------------------------------

  // Elements of a constant; none where it is not constant or has many.
  std::vector<double> numbers(const Place& from, ValueId value) {
    const auto [place, at] = outermost(from, value);
    if (!at) return {};
    const ir::Literal* literal = place->caller == nullptr
                                     ? facts_.constant(at)
                                     : place->graph->direct_constant(at);
    if (literal == nullptr || literal->element_count() > kMostNumbers) {
      return {};
    }
    return ir::to_doubles(*literal, model_.external.get(), kMostNumbers)
        .value_or(std::vector<double>());
  }

  void meet(const At& at, double number) {
    const double x = at.line.inverse(number);
    if (std::isfinite(x)) use_.met.push_back(x);
  }

  void meet(const At& at, NodeId node, std::size_t other) {
    const ValueId value = at.place->graph->input(node, other);
    const auto found = numbers(*at.place, value);
    for (const double each : found) meet(at, each);
    if (!found.empty() || !value) return;
    const auto [place, met] = outermost(*at.place, value);
    if (place->caller == nullptr && met != at.value) {
      use_.meetings.push_back({met, at.line});
    }
  }

  bool of_standard(const At& at, NodeId node, std::size_t slot,
                   std::string_view type) {
    if (is_comparison(type)) {
      meet(at, node, 1 - slot);
      return true;
    }
    if (type == "Where" && slot == 0) {
      if (is_low(at, node, at.line.scale > 0 ? 1 : 2)) use_.hides = true;
      return use_.is_mask = true;
    }
    if (type == "If" && slot == 0) return use_.is_mask = true;
    if (type == "Compress" && slot == 1) return use_.is_mask = true;
    if (type == "Xor") return use_.is_mask = true;
    if (type == "And" || type == "Or") {
      use_.is_mask = true;
      return go_on(at, node, 1, 0);
    }
    if (type == "Not") {
      use_.is_mask = true;
      return go_on(at, node, -1, 1);
    }
    if (type == "Cast") {
      const auto to = static_cast<ir::DataType>(attribute(at, node, "to", 0));
      if (to == ir::DataType::kBool) {
        use_.is_mask = true;
        return go_on(at, node, 1, 0);
      }
      At next = at;
      next.is_whole = is_integer(to);
      follow(next, node);
      return true;
    }
    if (type == "Clip" || type == "Min" || type == "Max" || type == "Mod") {
      return bound(at, node, slot);
    }
    if (type == "Neg") return go_on(at, node, -1, 0);
    if (type == "ReduceMax" || type == "ReduceMin" || type == "ReduceMean" ||
        type == "ReduceSum" || type == "CumSum" || type == "Abs") {
      if (slot != 0) return false;
      note_number(at);
      follow_bounded(at, node);
      return true;
    }
    if (type == "Loop" || type == "Scan") return enter_body(at, node, slot);
    if (type == "Shape" || type == "Size") return true;
    return of_two(at, node, slot, type);
  }

  // Whether an operand hides scores.
  bool is_low(const At& at, NodeId node, std::size_t operand) {
    const auto found =
        numbers(*at.place, at.place->graph->input(node, operand));
    return !found.empty() && found[0] <= kHiding;
  }

  bool go_on(At at, NodeId node, double scale, double shift) {
    at.line = {.scale = at.line.scale * scale,
               .shift = at.line.shift * scale + shift};
    if (at.line.scale != 0) follow(at, node);
    return true;
  }

  bool of_two(const At& at, NodeId node, std::size_t slot,
              std::string_view type) {
    const bool is_sum = type == "Add" || type == "Sub";
    if (!is_sum && type != "Mul" && type != "Div") return false;
    const ValueId other = at.place->graph->input(node, 1 - slot);
    const auto found = numbers(*at.place, other);
    if (found.empty()) {
      if (type == "Mul" && other != at.value) {
        use_.is_pooled = true;
      } else {
        note_number(at);
      }
      // Positions count on from a size that the graph computes.
      if (is_sum && at.is_whole) follow_bounded(at, node);
      return true;
    }
    const double c = found[0];
    if (is_sum) {
      if (type == "Add") return go_on(at, node, 1, c);
      if (slot == 0) return go_on(at, node, 1, -c);
      if (c == 1 && found.size() == 1) use_.is_mask = true;
      return go_on(at, node, -1, c);
    }
    if (type == "Mul") {
      // What is added to scores to hide them.
      if (c <= kHiding) {
        use_.is_mask = true;
        use_.hides = use_.hides || at.line.scale > 0;
      }
      note_number(at);
      return go_on(at, node, c, 0);
    }
    note_number(at);
    if (slot == 0 && c != 0) return go_on(at, node, 1 / c, 0);
    return true;
  }

  // Not where 1 - x said already what it is.
  void note_number(const At& at) {
    if (at.line.scale == 1 && at.line.shift == 0) use_.is_number = true;
  }

  // Beyond the bounds results stay the same.
  bool bound(const At& at, NodeId node, std::size_t slot) {
    const ir::Graph& graph = *at.place->graph;
    note_number(at);
    for (std::size_t i = 0; i < graph.inputs(node).size(); ++i) {
      if (i != slot && graph.input(node, i)) meet(at, node, i);
    }
    for (const std::string_view name : {"min", "max"}) {
      const ir::Attribute* a = graph.attribute(node, name);
      if (a != nullptr) meet(at, double{a->f});
    }
    follow_bounded(at, node);
    return true;
  }

  // --- bodies ----------------------------------------------------------------

  bool enter_body(const At& at, NodeId node, std::size_t slot) {
    const ir::Graph& graph = *at.place->graph;
    const ir::Attribute* body = graph.attribute(node, "body");
    if (body == nullptr || body->blocks.empty()) return false;
    if (slot == 1 && graph.op(node).type == "Loop") return use_.is_mask = true;
    const auto& inputs = graph.block(body->blocks[0]).inputs;
    if (slot < inputs.size()) move(at, at.place, inputs[slot]);
    return true;
  }

  void leave_blocks(const At& at) {
    const ir::Graph& graph = *at.place->graph;
    for (std::size_t b = 0; b < graph.block_count(); ++b) {
      const ir::Block& block = graph.block(ir::BlockId(b));
      for (std::size_t i = 0; i < block.outputs.size(); ++i) {
        if (block.outputs[i] != at.value) continue;
        if (!block.owner) {
          const Place* caller = at.place->caller;
          if (b == 0 && caller != nullptr) {
            move(at, caller, caller->graph->output(at.place->call, i));
          }
          continue;
        }
        const bool is_loop = graph.op(block.owner).type == "Loop";
        if (is_loop && i == 0) {
          use_.is_mask = true;
        } else {
          follow(at, block.owner, is_loop ? i - 1 : i);
        }
      }
    }
  }

  void enter(const At& at, NodeId node, std::size_t slot,
             const ir::Function& function) {
    constexpr std::size_t kDeepest = 20;
    const auto& inputs = function.body.block(ir::Graph::main_block()).inputs;
    if (slot >= inputs.size() || at.place->depth >= kDeepest) return;
    const auto [it, is_new] = places_.try_emplace(
        {at.place, node},
        Place{&function.body, at.place, node, at.place->depth + 1});
    move(at, &it->second, inputs[slot]);
  }

  const ir::Model& model_;
  ir::Facts& facts_;
  InputUse use_;
  const Place main_;
  // By caller and call. Never iterated: the order of pointers must not show.
  std::map<std::pair<const Place*, NodeId>, Place> places_;
  std::vector<At> todo_;
  std::set<std::pair<const Place*, ValueId>> seen_;  // never iterated
};

}  // namespace

bool is_comparison(std::string_view type) {
  return type == "Equal" || type == "Less" || type == "Greater" ||
         type == "LessOrEqual" || type == "GreaterOrEqual";
}

InputUse use_of(const ir::Model& model, ir::Facts& facts, ValueId input) {
  return FollowedUse(model, facts).of(input);
}

}  // namespace ruleengine::runtime
