#include "core/rewrite/prune.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/ir/model.h"
#include "core/rewrite/edits/workspace.h"

namespace ruleengine::rewrite {
namespace {

using ir::Attribute;
using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

// How the inputs and outputs of a node belong to those of its bodies. Input i
// of the node is input i of a body; the first `outer_inputs` inputs are no
// values that the body is given as they are, and stay.
struct Form {
  std::size_t outer_inputs = 0;
  std::size_t carried = 0;        // inputs after those: given to the next turn
  std::size_t outer_outputs = 0;  // of the body, which the node does not have
  // Attributes with an entry for each input after the carried ones, and for
  // each output after the carried ones.
  std::vector<std::string_view> of_inputs, of_outputs;
  bool counts_turns = false;  // by the inputs after the carried ones
};

std::vector<BlockId> bodies_of(const ir::Graph& graph, NodeId node) {
  std::vector<BlockId> all;
  for (const Attribute& a : graph.node(node).attributes) {
    all.insert(all.end(), a.blocks.begin(), a.blocks.end());
  }
  return all;
}

class Pruning {
 public:
  Pruning(Edit& edit, NodeId node)
      : edit_(edit),
        graph_(edit.graph()),
        node_(node),
        bodies_(bodies_of(graph_, node)) {}

  Edit::Built run() {
    const auto form = find_form();
    if (!form) {
      return Rejection{"its bodies are not of a known form",
                       graph_.describe(node_)};
    }
    form_ = *form;
    const std::size_t input_count = body_inputs().size();
    live_inputs_.assign(input_count, false);
    live_outputs_.assign(body_outputs().size(), false);
    instead_.assign(input_count, ValueId());
    find_unchanged();
    find_live();
    if (std::ranges::find(live_inputs_, false) == live_inputs_.end() &&
        std::ranges::find(live_outputs_, false) == live_outputs_.end()) {
      return Rejection{"everything that its bodies compute is read",
                       graph_.describe(node_)};
    }
    return build();
  }

 private:
  // What the op says of inputs and outputs; none if the node does not fit.
  std::optional<Form> find_form() const {
    const ir::Op& op = graph_.op(node_);
    if (bodies_.empty()) return std::nullopt;
    std::optional<Form> form;
    if (op.standard("If")) form = Form{};
    if (op.standard("SequenceMap")) form = Form{.outer_inputs = 1};
    if (op.standard("Loop") && graph_.inputs(node_).size() >= 2) {
      form = Form{.outer_inputs = 2,
                  .carried = graph_.inputs(node_).size() - 2,
                  .outer_outputs = 1};
    }
    if (op.standard("Scan")) form = scan_form();
    if (!form || !fits(*form)) return std::nullopt;
    return form;
  }

  // Until opset 8 a Scan ran over batches.
  std::optional<Form> scan_form() const {
    const Attribute* const count = graph_.attribute(node_, "num_scan_inputs");
    const std::size_t inputs = graph_.inputs(node_).size();
    if (Workspace(graph_).opset("") < 9 || count == nullptr || count->i < 1 ||
        static_cast<std::size_t>(count->i) > inputs) {
      return std::nullopt;
    }
    return Form{.carried = inputs - static_cast<std::size_t>(count->i),
                .of_inputs = {"scan_input_axes", "scan_input_directions"},
                .of_outputs = {"scan_output_axes", "scan_output_directions"},
                .counts_turns = true};
  }

  bool fits(const Form& form) const {
    const bool has_inputs = !graph_.op(node_).standard("If");
    const std::size_t inputs = has_inputs ? graph_.inputs(node_).size() : 0;
    const std::size_t outputs =
        graph_.outputs(node_).size() + form.outer_outputs;
    return std::ranges::all_of(bodies_, [&](BlockId body) {
      const ir::Block& b = graph_.block(body);
      return b.inputs.size() == inputs && b.outputs.size() >= outputs &&
             b.outputs.size() >= form.carried + form.outer_outputs;
    });
  }

  std::span<const ValueId> body_inputs() const {
    return graph_.block(bodies_[0]).inputs;
  }
  std::span<const ValueId> body_outputs() const {
    return graph_.block(bodies_[0]).outputs;
  }

  // The output of the body that is given to input `i` in the next turn.
  std::size_t next(std::size_t i) const {
    return i - form_.outer_inputs + form_.outer_outputs;
  }
  bool is_carried(std::size_t i) const {
    return i >= form_.outer_inputs && i < form_.outer_inputs + form_.carried;
  }

  // The carried values that a body passes on as they are.
  void find_unchanged() {
    for (std::size_t i = 0; i < instead_.size(); ++i) {
      if (!is_carried(i)) continue;
      ValueId v = body_outputs()[next(i)];
      for (NodeId n = graph_.producer(v);
           n && graph_.op(n).standard("Identity"); n = graph_.producer(v)) {
        v = graph_.input(n, 0);
      }
      if (v == body_inputs()[i]) instead_[i] = graph_.input(node_, i);
    }
  }

  void find_live() {
    for (std::size_t i = 0; i < live_inputs_.size(); ++i) {
      body_input_[body_inputs()[i]] = i;
      if (i < form_.outer_inputs) live_inputs_[i] = true;
    }
    for (std::size_t i = 0; i < form_.outer_outputs; ++i) need_output(i);
    for (std::size_t i = 0; i < graph_.outputs(node_).size(); ++i) {
      const ValueId v = graph_.output(node_, i);
      const std::size_t input = form_.outer_inputs + i;
      const bool stays_same = is_carried(input) && instead_[input];
      if (v && graph_.reader_count(v) > 0 && !stays_same) {
        need_output(i + form_.outer_outputs);
      }
    }
    while (!wanted_.empty()) {
      const ValueId v = wanted_.back();
      wanted_.pop_back();
      see(v);
    }
    if (form_.counts_turns) keep_one(live_inputs_, form_.carried);
  }

  static void keep_one(std::vector<bool>& all, std::size_t from) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
    if (std::find(first, all.end(), true) == all.end()) *first = true;
  }

  // A carried value stays as a whole: its input and its output.
  void need_output(std::size_t i) {
    if (live_outputs_[i]) return;
    live_outputs_[i] = true;
    for (const BlockId body : bodies_) {
      wanted_.push_back(graph_.block(body).outputs[i]);
    }
    const std::size_t input = i + form_.outer_inputs - form_.outer_outputs;
    if (i >= form_.outer_outputs && is_carried(input)) {
      live_inputs_[input] = true;
    }
  }

  void need_input(std::size_t i) {
    live_inputs_[i] = true;
    if (is_carried(i)) need_output(next(i));
  }

  // A value that something in the bodies is computed from.
  void see(ValueId v) {
    if (!v || !is_inside(v) || !seen_.insert(v).second) return;
    if (const NodeId n = graph_.producer(v)) push_reads(n);
    const auto input = body_input_.find(v);
    if (input != body_input_.end() && !instead_[input->second]) {
      need_input(input->second);
    }
  }

  bool is_inside(ValueId v) const {
    return std::ranges::any_of(bodies_, [&](BlockId body) {
      return encloses(graph_, body, graph_.value(v).block);
    });
  }

  void push_reads(NodeId n) {
    for (const ir::Operand& o : graph_.inputs(n)) wanted_.push_back(o.value);
    for (const BlockId body : bodies_of(graph_, n)) {
      const auto& outputs = graph_.block(body).outputs;
      wanted_.insert(wanted_.end(), outputs.begin(), outputs.end());
    }
  }

  Edit::Built build() {
    NodeCopy part{.node = node_,
                  .ports = {.inputs = live_inputs_},
                  .bodies = {.inputs = live_inputs_, .outputs = live_outputs_},
                  .instead = instead_};
    const auto first = live_outputs_.begin() +
                       static_cast<std::ptrdiff_t>(form_.outer_outputs);
    part.ports.outputs.assign(first, live_outputs_.end());
    const std::vector<Attribute> attributes = attributes_of(part.ports);
    part.attributes = attributes;
    std::vector<ValueId> made;
    if (std::ranges::find(part.ports.outputs, true) !=
        part.ports.outputs.end()) {
      auto built = edit_.copy_node(part);
      if (std::holds_alternative<Rejection>(built)) return built;
      made = std::get<std::vector<ValueId>>(std::move(built));
    }
    return in_place_of_outputs(made);
  }

  std::vector<Attribute> attributes_of(const Ports& ports) const {
    const auto written = graph_.node(node_).attributes;
    std::vector<Attribute> all(written.begin(), written.end());
    const auto begin = form_.outer_inputs + form_.carried;
    for (Attribute& a : all) {
      if (std::ranges::find(form_.of_inputs, a.name) != form_.of_inputs.end()) {
        select(a, ports.inputs, begin);
      }
      if (std::ranges::find(form_.of_outputs, a.name) !=
          form_.of_outputs.end()) {
        select(a, ports.outputs, form_.carried);
      }
      if (a.name == "num_scan_inputs") {
        a.i = std::count(
            ports.inputs.begin() + static_cast<std::ptrdiff_t>(begin),
            ports.inputs.end(), true);
        a.proto = {};
      }
    }
    return all;
  }

  void select(Attribute& a, const std::vector<bool>& stays,
              std::size_t begin) const {
    std::vector<std::int64_t> chosen;
    for (std::size_t i = 0; i < a.ints.size(); ++i) {
      if (begin + i < stays.size() && stays[begin + i]) {
        chosen.push_back(a.ints[i]);
      }
    }
    a.ints = graph_.model().arena.copy(std::span<const std::int64_t>(chosen));
    a.proto = {};
  }

  std::vector<ValueId> in_place_of_outputs(
      const std::vector<ValueId>& made) const {
    std::vector<ValueId> all;
    std::size_t next_made = 0;
    for (std::size_t i = 0; i < graph_.outputs(node_).size(); ++i) {
      const std::size_t input = form_.outer_inputs + i;
      ValueId v = is_carried(input) ? instead_[input] : ValueId();
      if (live_outputs_[i + form_.outer_outputs]) {
        v = next_made < made.size() ? made[next_made] : ValueId();
        ++next_made;
      }
      all.push_back(graph_.output(node_, i) ? v : ValueId());
    }
    return all;
  }

  Edit& edit_;
  ir::Graph& graph_;
  NodeId node_;
  std::vector<BlockId> bodies_;
  Form form_;
  std::vector<bool> live_inputs_, live_outputs_;  // of a body
  std::vector<ValueId> instead_;  // of an unchanged input: the value outside
  std::unordered_map<ValueId, std::size_t> body_input_;  // its place
  std::unordered_set<ValueId> seen_;
  std::vector<ValueId> wanted_;  // to be seen
};

}  // namespace

Edit::Built prune_bodies(Edit& edit, NodeId node) {
  edit.set_block(edit.graph().node(node).block);
  return Pruning(edit, node).run();
}

}  // namespace ruleengine::rewrite
