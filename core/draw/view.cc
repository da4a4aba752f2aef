#include "core/draw/view.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ruleengine::draw {
namespace {

constexpr std::size_t kMostPorts = 24;  // in each direction

class Viewer {
 public:
  Viewer(const Scene& scene, GroupId group, std::size_t most)
      : scene_(scene),
        graph_(scene.graph),
        outline_(scene.outline),
        most_(most) {
    view_.group = group;
  }

  View view() {
    open_groups();
    place(view_.group, kNone);
    for (const ir::NodeId node : nodes_) connect(node);
    for (const auto& [ends, arrow] : arrows_) view_.arrows.push_back(arrow);
    // In the order of the graph, since the layout depends on it.
    std::ranges::stable_sort(view_.arrows, {}, [](const Arrow& arrow) {
      return std::pair(arrow.to, arrow.from);
    });
    return std::move(view_);
  }

 private:
  // --- which groups are open -----------------------------------------------

  bool has_match(GroupId id) {
    const auto [at, fresh] = matched_.emplace(id.index(), false);
    if (!fresh) return at->second;
    bool found = false;
    for (const Item& child : outline_[id].children) {
      found = found || (child.group ? has_match(child.group)
                                    : !rules_of(child.node).empty());
    }
    return matched_[id.index()] = found;
  }

  void open_groups() {
    // Opens groups with matches first, then those near the root, then in order.
    using Entry = std::tuple<bool, std::size_t, std::size_t, GroupId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::size_t count = 0, entered = 0;
    const auto open = [&](GroupId id, std::size_t depth) {
      open_[id.index()] = true;
      for (const Item& child : outline_[id].children) {
        ++count;
        if (!child.group) continue;
        if (outline_[child.group].kind == Group::Kind::kMore) continue;
        queue.push({!has_match(child.group), depth, entered++, child.group});
      }
    };
    open(view_.group, 0);
    while (!queue.empty()) {
      const auto [quiet, depth, number, id] = queue.top();
      queue.pop();
      if (count - 1 + outline_[id].children.size() > most_) continue;
      --count;
      open(id, depth + 1);
    }
  }

  // --- boxes ---------------------------------------------------------------

  const std::vector<std::uint32_t>& rules_of(ir::NodeId node) const {
    static const std::vector<std::uint32_t> kNothing;
    const auto& of_node = scene_.marks.of_node;
    return node.index() < of_node.size() ? of_node[node.index()] : kNothing;
  }

  void place(GroupId id, std::uint32_t frame) {
    for (const Item& child : outline_[id].children) {
      if (child.group && open_.contains(child.group.index())) {
        view_.frames.push_back({.group = child.group, .around = frame});
        place(child.group, static_cast<std::uint32_t>(view_.frames.size() - 1));
        continue;
      }
      view_.boxes.push_back({.item = child, .frame = frame});
      fill(child, static_cast<std::uint32_t>(view_.boxes.size() - 1));
      std::vector<std::uint32_t>& rules = view_.boxes.back().rules;
      std::ranges::sort(rules);
      const auto twice = std::ranges::unique(rules);
      rules.erase(twice.begin(), twice.end());
    }
  }

  // Maps every node of the item to that box.
  void fill(const Item& item, std::uint32_t box) {
    if (item.group) {
      for (const Item& child : outline_[item.group].children) fill(child, box);
      return;
    }
    box_of_[item.node.index()] = box;
    nodes_.push_back(item.node);
    Box& b = view_.boxes[box];
    for (const std::uint32_t rule : rules_of(item.node)) {
      if (b.rules.size() < 64) b.rules.push_back(rule);
    }
    if (item.node.index() < scene_.marks.roots_of_node.size()) {
      b.matches += scene_.marks.roots_of_node[item.node.index()];
    }
  }

  // --- arrows --------------------------------------------------------------

  // No port if there are too many.
  std::uint32_t port(ir::ValueId value, bool in) {
    auto& known = in ? in_ : out_;
    const auto found = known.find(value.index());
    if (found != known.end()) return found->second;
    if (known.size() >= kMostPorts) {
      ++view_.ports_left_out;
      return known[value.index()] = kNone;
    }
    const bool of_model = in ? !graph_.producer(value)
                             : graph_.value(value).block_output_count > 0;
    view_.ports.push_back({.value = value, .in = in, .of_model = of_model});
    return known[value.index()] = static_cast<std::uint32_t>(
               view_.boxes.size() + view_.ports.size() - 1);
  }

  void arrow(std::uint32_t from, std::uint32_t to, ir::ValueId value) {
    if (from == kNone || to == kNone || from == to) return;
    const auto [at, fresh] = arrows_.emplace(
        std::pair(from, to), Arrow{.from = from, .to = to, .value = value});
    if (fresh) {
      last_[{from, to}] = value;
    } else if (last_[{from, to}] != value) {
      last_[{from, to}] = value;
      ++at->second.count;
    }
  }

  void connect(ir::NodeId node) {
    const std::uint32_t box = box_of_.at(node.index());
    for (const ir::Operand& operand : graph_.inputs(node)) {
      if (!operand.value) continue;
      const ir::NodeId producer = graph_.producer(operand.value);
      if (producer && !is_drawn(graph_, producer)) continue;
      const ir::ValueKind kind = graph_.value(operand.value).kind;
      if (!producer && kind != ir::ValueKind::kInput) continue;
      const auto from =
          producer ? box_of_.find(producer.index()) : box_of_.end();
      arrow(from != box_of_.end() ? from->second : port(operand.value, true),
            box, operand.value);
    }
    for (const ir::ValueId value : graph_.outputs(node)) {
      if (value && leaves(value)) arrow(box, port(value, false), value);
    }
  }

  // Whether the value is an output of the model, or is read outside of this
  // view.
  bool leaves(ir::ValueId value) const {
    if (graph_.value(value).block_output_count > 0) return true;
    for (ir::OperandId use = graph_.first_use(value); use;
         use = graph_.next_use(use)) {
      if (!box_of_.contains(graph_.operand(use).user.index())) return true;
    }
    return false;
  }

  const Scene& scene_;
  const ir::Graph& graph_;
  const Outline& outline_;
  std::size_t most_;
  View view_;
  std::unordered_map<std::size_t, bool> open_, matched_;
  std::unordered_map<std::size_t, std::uint32_t> box_of_;  // by node
  std::vector<ir::NodeId> nodes_;
  std::map<std::size_t, std::uint32_t> in_, out_;  // by value
  std::map<std::pair<std::uint32_t, std::uint32_t>, Arrow> arrows_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ir::ValueId> last_;
};

}  // namespace

View view_of(const Scene& scene, GroupId group, std::size_t most) {
  return Viewer(scene, group, most).view();
}

}  // namespace ruleengine::draw
