// The last steps of a kept edit: names, provenance, imports, and the marks of
// what differs from the file.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/ops/op_facts.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::BlockId;
using ir::NodeId;
using ir::OperandId;
using ir::ValueId;

// Node metadata needs this IR version.
constexpr std::int64_t kMetadataIrVersion = 10;
constexpr std::size_t kMaxFrom = 16;
// Longer names and scopes would be repeated for each new node.
constexpr std::size_t kLongestFrom = 1000;
constexpr std::string_view kRuleKey = "ruleengine.rule";
constexpr std::string_view kFromKey = "ruleengine.from";

// "/encoder/layer.0/" of "/encoder/layer.0/MatMul".
std::string_view scope_of(std::string_view name) {
  return name.substr(0, name.rfind('/') + 1);
}

std::string_view common_scope(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  return scope_of(a.substr(0, static_cast<std::size_t>(end - a.begin())));
}

class Keeper {
 public:
  explicit Keeper(EditState& state)
      : state_(state), graph_(state.graph), model_(state.graph.model()) {}

  // Gives new values the names that they inherit; outputs keep their names.
  void inherit_names() {
    // A value that was replaced twice has an Identity for its name as an
    // output.
    std::unordered_set<ir::ValueId> carried;
    for (const Heir& heir : state_.heirs) {
      if (heir.is_output) carried.insert(heir.from);
    }
    for (const Heir& heir : state_.heirs) {
      if (graph_.value(heir.value).removed || !heir.name) continue;
      if (!heir.is_output && carried.contains(heir.from)) continue;
      const ir::Value& from = graph_.value(heir.from);
      if (!heir.is_output) {
        const bool free = from.removed &&
                          state_.heir_of(heir.value, true) == nullptr &&
                          from.kind == ir::ValueKind::kNodeOutput &&
                          from.block == graph_.value(heir.value).block;
        if (!free) continue;
      } else if (!from.removed && from.name == heir.name) {
        // The old value stays as an inner value; the output takes its name.
        rename(heir.from, model_.unique_name(model_.names.text(heir.name)));
      }
      set_name(heir.value, heir.name);
    }
  }

  void keep() {
    drop_removed();
    list_adopted();
    name_copies();
    name_likes();
    name_nodes();
    name_constants();
    for (const auto& [node, like] : state_.likes) {
      graph_.mutable_node(node).extra = graph_.node(like).extra;
    }
    write_provenance();
    import_domains();
    mark_changed();
  }

 private:
  void rename(ValueId value, std::string_view name) {
    set_name(value, model_.names.intern(name));
  }

  // A name for an unnamed value; when the edit is repeated, its first name.
  template <class Stem>
  void make_up(ValueId value, const Stem& stem) {
    Name name = state_.again ? state_.again->name_of(value) : Name();
    if (!name) name = model_.names.intern(model_.unique_name(stem()));
    set_name(value, name);
    state_.named.emplace_back(value, name);
  }

  void set_name(ValueId value, Name name) {
    if (graph_.value(value).name == name) return;
    state_.log.set_name(value, name);
    state_.workspace->note_name(name, value);
    // Nodes that contain the name must be written again.
    if (const NodeId p = graph_.producer(value)) state_.moved.push_back(p);
    for (OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
      state_.moved.push_back(graph_.operand(u).user);
    }
  }

  void drop_removed() {
    const auto gone = [&](NodeId n) { return graph_.node(n).removed; };
    state_.added.erase_if(gone);
    state_.moved.erase_if(gone);
    state_.readers.erase_if(gone);
  }

  // Adds initializers that are read again to their blocks' lists. An entry that
  // an earlier edit dropped may still be there; searching the list for each
  // would cost too much, and compact_initializers() removes duplicates.
  void list_adopted() {
    for (ValueId v : state_.adopted) {
      if (graph_.reader_count(v) == 0) continue;
      graph_.mutable_block(graph_.value(v).block).initializers.push_back(v);
    }
  }

  // A copy takes the names of its original if that is removed and nothing else
  // has them: values of bodies beside each other may have the same names.
  void name_copies() {
    if (state_.copied.empty() && state_.copied_inputs.empty()) return;
    const auto own_name = [&](NodeId from, const std::string& name) {
      if (from && graph_.node(from).removed) {
        const Name own = model_.names.intern(name);
        if (!state_.workspace->is_used(own)) return own;
      }
      return model_.names.intern(model_.unique_name(name));
    };
    for (const Copied& copied : state_.copied) {
      if (graph_.node(copied.node).removed) continue;
      if (!copied.name.empty()) {
        const bool is_gone = copied.from && graph_.node(copied.from).removed;
        graph_.mutable_node(copied.node).name =
            is_gone ? model_.arena.copy(copied.name)
                    : model_.unique_name(copied.name);
      }
      for (std::size_t i = 0; i < copied.outputs.size(); ++i) {
        const ValueId v = graph_.output(copied.node, i);
        if (!v || graph_.value(v).name || copied.outputs[i].empty()) continue;
        set_name(v, own_name(copied.from, copied.outputs[i]));
        state_.named.emplace_back(v, graph_.value(v).name);
      }
    }
    for (const CopiedInput& copied : state_.copied_inputs) {
      // The input goes with its body, and keeps its name until then.
      const Name name = own_name(copied.from, copied.name);
      graph_.mutable_value(copied.value).name = name;
      state_.workspace->note_name(name, copied.value);
    }
  }

  void name_nodes() {
    for (NodeId node : state_.added) {
      const ir::Op& op = graph_.op(node);
      std::string_view& name = graph_.mutable_node(node).name;
      if (name.empty())
        name = model_.unique_name(scope() + std::string(op.type));
      const ops::OpFacts* facts = ops::newest_op(op.domain, op.type);
      for (std::size_t i = 0; i < graph_.outputs(node).size(); ++i) {
        const ValueId v = graph_.output(node, i);
        if (graph_.value(v).name) continue;
        make_up(
            v, [&] { return std::string(name) + "_" + formal_name(facts, i); });
      }
    }
  }

  static std::string formal_name(const ops::OpFacts* facts, std::size_t i) {
    const ops::FormalValue* formal =
        facts == nullptr ? nullptr : facts->output(i);
    if (formal == nullptr) return "output" + std::to_string(i);
    std::string name(formal->name);
    if (formal->arity == ops::Arity::kVariadic) name += std::to_string(i);
    return name;
  }

  void name_constants() {
    for (const auto& [value, stem] : state_.stems) {
      const ir::Value& v = graph_.value(value);
      if (v.removed || v.name || graph_.reader_count(value) == 0) continue;
      make_up(value, [&] { return stem.empty() ? "constant" : stem; });
    }
  }

  // The matched nodes; a pass does not state them, so what it removed.
  SmallVector<NodeId, 16> replaced() const {
    SmallVector<NodeId, 16> nodes;
    for (NodeId n : state_.provenance.from) nodes.push_back(n);
    if (!nodes.empty()) return nodes;
    for (NodeId n : state_.removed) {
      if (!state_.is_new(n)) nodes.push_back(n);
    }
    return nodes;
  }

  // The scope that the replaced nodes have in common, of those with a name.
  const std::string& scope() {
    if (scope_) return *scope_;
    std::optional<std::string_view> common;
    for (NodeId n : replaced()) {
      const std::string_view name = graph_.node(n).name;
      if (name.empty()) continue;
      const std::string_view own = scope_of(name);
      common = common ? common_scope(*common, own) : own;
    }
    if (common && common->size() > kLongestFrom) common.reset();
    return scope_.emplace(common.value_or(""));
  }

  // A node like another has the name of that one, if it replaces it.
  void name_likes() {
    std::unordered_set<NodeId> heired;
    for (const auto& [node, like] : state_.likes) {
      std::string_view& name = graph_.mutable_node(node).name;
      const std::string_view old = graph_.node(like).name;
      if (!name.empty() || old.empty()) continue;
      const bool is_free =
          std::ranges::find(state_.removed, like) != state_.removed.end() &&
          heired.insert(like).second;
      name = is_free ? old : model_.unique_name(old);
    }
  }

  static std::string_view said(const ir::Node& node, std::string_view key) {
    const auto it = std::ranges::find(node.metadata, key, &ir::Metadata::key);
    return it == node.metadata.end() ? std::string_view() : it->value;
  }

  // The names of the matched nodes, where another edit made one, those that
  // this came from.
  std::string from() const {
    SmallVector<NodeId, 16> nodes = replaced();
    for (NodeId n : state_.provenance.context) {
      if (graph_.node(n).removed) nodes.push_back(n);
    }
    nodes.sort_unique();
    std::vector<std::string_view> names;
    const auto add = [&](std::string_view name) {
      if (name.empty() || name.size() > kLongestFrom) return;
      if (names.size() == kMaxFrom) return;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    for (NodeId n : nodes) {
      const ir::Node& node = graph_.node(n);
      const bool is_made = n.index() >= state_.workspace->first_made() &&
                           !said(node, kRuleKey).empty();
      if (is_made) {
        for (const auto part : std::views::split(said(node, kFromKey), ',')) {
          add(std::string_view(part.begin(), part.end()));
        }
      } else if (!node.name.empty()) {
        add(node.name);
      } else if (graph_.output(n)) {
        add(graph_.name(graph_.output(n)));
      }
    }
    return fmt::format("{}", fmt::join(names, ","));
  }

  void write_provenance() {
    if (state_.provenance.rule.empty()) return;
    const bool is_recorded = state_.workspace->history() != nullptr;
    if (state_.added.empty() && !is_recorded) return;
    SmallVector<ir::Metadata, 4> common;
    std::size_t bytes = 0;
    const auto add = [&](std::string_view key, std::string_view value) {
      bytes += key.size() + value.size();
      common.push_back({model_.arena.copy(key), model_.arena.copy(value)});
    };
    add(kRuleKey, state_.provenance.rule);
    if (const std::string names = from(); !names.empty()) {
      add(kFromKey, names);
    }
    for (const auto& [key, value] : state_.provenance.meta) add(key, value);
    const auto shared =
        model_.arena.copy(std::span<const ir::Metadata>(common));
    state_.metadata = shared;
    if (state_.added.empty()) return;
    for (NodeId n : state_.added) graph_.mutable_node(n).metadata = shared;
    model_.hold(bytes * state_.added.size());  // each of them writes it
    for (const auto& [node, like] : state_.likes) {
      if (!graph_.node(node).removed) add_metadata_of(node, like, shared);
    }
    model_.ir_version = std::max(model_.ir_version, kMetadataIrVersion);
  }

  // Adds the metadata of the model node, except keys that the rule sets itself.
  void add_metadata_of(NodeId node, NodeId like,
                       std::span<const ir::Metadata> own) {
    std::vector<ir::Metadata> all;
    for (const ir::Metadata& m : graph_.node(like).metadata) {
      const bool said =
          m.key == kFromKey ||
          std::ranges::find(own, m.key, &ir::Metadata::key) != own.end();
      if (!said) all.push_back(m);
    }
    if (all.empty()) return;
    all.insert(all.end(), own.begin(), own.end());
    graph_.mutable_node(node).metadata =
        model_.arena.copy(std::span<const ir::Metadata>(all));
  }

  void import_domains() {
    for (NodeId n : state_.added) {
      const std::string_view domain = graph_.op(n).domain;
      if (state_.workspace->opset(domain) != 0) continue;
      const int newest = ops::newest_opset(domain);
      state_.workspace->import_opset(domain, newest > 0 ? newest : 1);
    }
  }

  void mark_changed() {
    for (NodeId n : state_.moved) state_.log.forget_proto(n);
    for (NodeId n : state_.added) mark(graph_.node(n).block);
    for (NodeId n : state_.removed) mark(graph_.node(n).block);
    for (NodeId n : state_.moved) mark(graph_.node(n).block);
    for (BlockId b : state_.outputs) mark(b);
    model_.changed = true;
  }

  void mark(BlockId block) {
    while (block && !graph_.block(block).changed) {
      state_.log.mark_changed(block);
      const ir::Block& b = graph_.block(block);
      if (b.owner) state_.log.forget_proto(b.owner);
      block = b.parent;
    }
  }

  EditState& state_;
  ir::Graph& graph_;
  ir::Model& model_;
  std::optional<std::string> scope_;
};

}  // namespace

void settle_names(EditState& state) { Keeper(state).inherit_names(); }

void keep(EditState& state) { Keeper(state).keep(); }

}  // namespace ruleengine::rewrite
