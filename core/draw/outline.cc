#include "core/draw/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/diagnostic.h"
#include "core/draw/repeats.h"
#include "core/ir/order.h"

namespace ruleengine::draw {
namespace {

constexpr std::size_t kDeepest = 16;         // scopes inside of scopes
constexpr std::size_t kGroupNameBytes = 60;  // of a group
constexpr std::size_t kSmall = 2;  // nodes of a scope that is dissolved

std::uint64_t mix(std::uint64_t hash, std::uint64_t with) {
  return (hash ^ (with + 0x9e3779b97f4a7c15ULL)) * 1099511628211ULL;
}

class Builder {
 public:
  Builder(const ir::Graph& graph, std::size_t most)
      : graph_(graph), most_(most) {
    out_.groups.push_back({.name = "the whole model"});
    depth_.push_back(0);
    out_.of_node.resize(graph.node_count());
    out_.position.resize(graph.node_count());
  }

  Outline build(const std::vector<ir::NodeId>& order) {
    enter_blocks();
    std::size_t position = 0, drawn = 0;
    scopes_.resize(graph_.node_count());
    for (const ir::NodeId node : order) {
      out_.position[node.index()] = position++;
      scopes_[node.index()] = scope_of(node);
    }
    attached_.assign(out_.groups.size(), false);
    attached_[0] = true;
    for (const ir::NodeId node : order) {
      if (!is_drawn(graph_, node)) continue;
      ++drawn;
      GroupId& scope = scopes_[node.index()];
      if (!scope) scope = scope_among(node);
      attach(scope);
      add({.node = node}, scope);
    }
    tidy(Outline::root());
    if (drawn > most_) {
      sign(Outline::root());
      fold(Outline::root());
    }
    settle(Outline::root());
    return std::move(out_);
  }

 private:
  Group& group(GroupId id) { return out_.groups[id.index()]; }

  GroupId make(Group::Kind kind, std::string name, GroupId parent) {
    out_.groups.push_back(
        {.kind = kind, .name = std::move(name), .parent = parent});
    depth_.push_back(depth_[parent.index()] + 1);
    return GroupId(out_.groups.size() - 1);
  }

  void add(Item item, GroupId parent) {
    group(parent).children.push_back(item);
  }

  // The group `name` in `parent`, made on first use.
  GroupId enter(GroupId parent, std::string_view name) {
    if (depth_[parent.index()] >= kDeepest) return parent;
    const std::string key =
        std::to_string(parent.index()) + "/" + std::string(name);
    const auto [at, fresh] = known_.emplace(key, GroupId());
    if (fresh) {
      at->second =
          make(Group::Kind::kScope, printable(name, kGroupNameBytes), parent);
    }
    return at->second;
  }

  // Enters the scopes that PyTorch's exporter writes beside a flat name: "['',
  // 'model', 'model.layers.0', 'linear_1']", from the outermost in; the last is
  // the node itself.
  GroupId told_scope(GroupId scope, std::string_view told) {
    std::string_view around, next;
    for (bool first = true; depth_[scope.index()] < kDeepest; first = false) {
      const auto begin = told.find('\'');
      const auto end = begin == told.npos ? begin : told.find('\'', begin + 1);
      if (end == told.npos) return scope;
      if (!first && !next.empty()) {
        const bool inside = !around.empty() && next.starts_with(around) &&
                            next.size() > around.size() &&
                            next[around.size()] == '.';
        scope = enter(scope, inside ? next.substr(around.size() + 1) : next);
        around = next;
      }
      next = told.substr(begin + 1, end - begin - 1);
      told.remove_prefix(end + 1);
    }
    return scope;
  }

  // A group is placed where the first of its nodes is.
  void attach(GroupId id) {
    std::vector<GroupId> way;
    for (; !attached_[id.index()]; id = group(id).parent) way.push_back(id);
    for (; !way.empty(); way.pop_back()) {
      attached_[way.back().index()] = true;
      add({.group = way.back()}, group(way.back()).parent);
    }
  }

  GroupId common(GroupId a, GroupId b) const {
    const auto up = [&](GroupId& id) { id = out_[id].parent; };
    while (depth_[a.index()] > depth_[b.index()]) up(a);
    while (depth_[b.index()] > depth_[a.index()]) up(b);
    while (a != b) {
      up(a);
      up(b);
    }
    return a;
  }

  // For a node without a scope, such as optimizers make: the innermost scope
  // that holds both what it reads and what reads it, if those have one.
  GroupId scope_among(ir::NodeId node) const {
    GroupId scope;
    const auto join = [&](ir::NodeId other) {
      if (!other || !scopes_[other.index()]) return;
      const GroupId its = scopes_[other.index()];
      scope = scope ? common(scope, its) : its;
    };
    for (const ir::Operand& operand : graph_.inputs(node)) {
      if (operand.value) join(graph_.producer(operand.value));
    }
    const bool reads = static_cast<bool>(scope);
    std::size_t readers = 0;
    for (const ir::ValueId value : graph_.outputs(node)) {
      if (!value) continue;
      for (ir::OperandId use = graph_.first_use(value); use;
           use = graph_.next_use(use)) {
        const ir::NodeId user = graph_.operand(use).user;
        if (scopes_[user.index()]) ++readers;
        join(user);
      }
    }
    if (!reads || readers == 0) scope = {};
    const GroupId block = blocks_[graph_.node(node).block.index()];
    // A scope never leaves the body that contains the node.
    return scope && common(scope, block) == block ? scope : block;
  }

  // The scope given by the parts of the name before each slash; none if there
  // is none.
  GroupId scope_of(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    GroupId scope = blocks_[node.block.index()];
    std::string_view name = node.name;
    if (name.find('/') == name.npos) {
      for (const ir::Metadata& each : node.metadata) {
        if (each.key == "pkg.torch.onnx.name_scopes") {
          return told_scope(scope, each.value);
        }
      }
      return {};
    }
    while (depth_[scope.index()] < kDeepest) {
      const auto slash = name.find('/');
      if (slash == name.npos) break;
      if (slash > 0) scope = enter(scope, name.substr(0, slash));
      name.remove_prefix(slash + 1);
    }
    return scope;
  }

  // A block is entered after the one that contains it.
  void enter_blocks() {
    blocks_.assign(graph_.block_count(), Outline::root());
    for (std::size_t i = 1; i < blocks_.size(); ++i) {
      const ir::Block& block = graph_.block(ir::BlockId(i));
      if (!block.owner) continue;
      const std::string name =
          graph_.describe(block.owner) + ": " + std::string(block.name);
      blocks_[i] = enter(blocks_[block.parent.index()], name);
    }
  }

  // Dissolves scopes with one child, or with very few nodes.
  void tidy(GroupId id) {
    std::vector<Item> children;
    std::size_t nodes = 0;
    for (const Item& child : std::vector<Item>(group(id).children)) {
      if (!child.group) {
        children.push_back(child);
        ++nodes;
        continue;
      }
      tidy(child.group);
      const Group& inner = group(child.group);
      nodes += inner.nodes;
      if (inner.nodes <= kSmall) {
        children.insert(children.end(), inner.children.begin(),
                        inner.children.end());
      } else {
        children.push_back(child);
      }
    }
    group(id).children = std::move(children);
    group(id).nodes = nodes;
    if (id != Outline::root() && group(id).children.size() == 1 &&
        group(id).children[0].group) {
      const GroupId only = group(id).children[0].group;
      group(id).name = printable(group(id).name + "/" + group(only).name, 120);
      group(id).children = std::exchange(group(only).children, {});
    }
  }

  // A hash of the group's structure; names are ignored.
  std::uint64_t sign(GroupId id) {
    signs_.resize(out_.groups.size());
    std::uint64_t hash = 17;
    for (const Item& child : group(id).children) {
      hash = mix(hash, child.group ? sign(child.group) : op_of(child.node));
    }
    return signs_[id.index()] = hash;
  }
  std::uint64_t op_of(ir::NodeId node) const {
    return graph_.node(node).op.index() + 1;
  }
  std::uint64_t sign_of(const Item& item) const {
    return item.group ? signs_[item.group.index()] : op_of(item.node);
  }

  void fold(GroupId id) {
    const std::vector<Item> children = group(id).children;
    std::vector<std::uint64_t> signs;
    std::vector<std::size_t> weights;
    for (const Item& child : children) {
      signs.push_back(sign_of(child));
      weights.push_back(child.group ? group(child.group).nodes : 1);
    }
    std::vector<Item> folded;
    std::size_t next = 0;
    for (const Repeat& run : repeats(signs, weights)) {
      while (next < run.start) folded.push_back(children[next++]);
      fold_run(id, {children.data() + run.start, run.period * run.count}, run,
               folded);
      next = run.start + run.period * run.count;
    }
    while (next < children.size()) folded.push_back(children[next++]);
    group(id).children = std::move(folded);
    for (const Item& child : children) {
      if (child.group) fold(child.group);
    }
    cut(id);
    for (const Item& child : std::vector<Item>(group(id).children)) {
      if (child.group) cut(child.group);
    }
  }

  std::string label(const Item& item) {
    return item.group ? group(item.group).name
                      : printable(graph_.op(item.node).type, 40);
  }

  // One repetition: the scope itself, or a new group for items without a scope.
  Item one_of(GroupId parent, std::span<const Item> items, std::string name) {
    if (items.size() == 1 && items[0].group) return items[0];
    const GroupId made = make(Group::Kind::kBlock, std::move(name), parent);
    group(made).children.assign(items.begin(), items.end());
    cut(made);
    return {.group = made};
  }

  void fold_run(GroupId parent, std::span<const Item> items, const Repeat& run,
                std::vector<Item>& out) {
    const bool scopes = run.period == 1;
    const std::string last =
        scopes ? label(items.back()) : std::to_string(run.count);
    const std::string second = scopes ? label(items[1]) : "2";
    out.push_back(one_of(parent, items.first(run.period),
                         "block 1 of " + std::to_string(run.count)));
    std::string name = (scopes          ? ""
                        : run.count > 2 ? "blocks "
                                        : "block ") +
                       second;
    if (run.count > 2) name += " \u2026 " + last;
    const GroupId more = make(Group::Kind::kMore, std::move(name), parent);
    for (std::size_t i = 1; i < run.count; ++i) {
      const Item one = one_of(more, items.subspan(i * run.period, run.period),
                              "block " + std::to_string(i + 1));
      add(one, more);
    }
    group(more).times = run.count - 1;
    out.push_back({.group = more});
  }

  // Cuts a list that is too long into parts of equal length.
  void cut(GroupId id) {
    const std::vector<Item> children = group(id).children;
    if (children.size() <= most_) return;
    // A part is shorter than the list, and the parts are few enough for one
    // list.
    const std::size_t length =
        std::max<std::size_t>(most_ / 2, (children.size() + most_ - 1) / most_);
    const std::size_t parts = (children.size() + length - 1) / length;
    group(id).children.clear();
    for (std::size_t i = 0; i < children.size(); i += length) {
      const std::size_t end = std::min(i + length, children.size());
      const GroupId part =
          make(Group::Kind::kPart,
               fmt::format("part {} of {}: {} \u2026 {}", i / length + 1, parts,
                           label(children[i]), label(children[end - 1])),
               id);
      group(part).children.assign(children.begin() + static_cast<long>(i),
                                  children.begin() + static_cast<long>(end));
      add({.group = part}, id);
      cut(part);
    }
  }

  // Sets parents and sizes, after all groups are in place.
  void settle(GroupId id) {
    std::size_t nodes = 0;
    for (const Item& child : std::vector<Item>(group(id).children)) {
      if (child.group) {
        group(child.group).parent = id;
        settle(child.group);
        nodes += group(child.group).nodes;
      } else {
        out_.of_node[child.node.index()] = id;
        ++nodes;
      }
    }
    group(id).nodes = nodes;
  }

  const ir::Graph& graph_;
  std::size_t most_;
  Outline out_;
  std::vector<std::size_t> depth_;  // by group, while names are read
  std::vector<GroupId> blocks_;     // by block
  std::vector<GroupId> scopes_;     // by node; invalid: none
  std::vector<bool> attached_;      // by group
  std::vector<std::uint64_t> signs_;
  std::unordered_map<std::string, GroupId> known_;
};

}  // namespace

bool is_drawn(const ir::Graph& graph, ir::NodeId node) {
  return !graph.op(node).standard("Constant");
}

Result<Outline> outline(const ir::Graph& graph, std::size_t most) {
  auto order = ir::topological_order(graph);
  if (!order) return order.error();
  return Builder(graph, std::max<std::size_t>(most, 4)).build(*order);
}

}  // namespace ruleengine::draw
