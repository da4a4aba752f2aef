#include "core/rewrite/edits/unmentioned.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/ops/op_facts.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::Attribute;
using ir::NodeId;
using ir::ValueId;
using pattern::NodePatternId;

bool names(const pattern::NodePattern& node, std::string_view attribute) {
  return std::ranges::binary_search(node.attributes, attribute, {},
                                    &pattern::AttributePattern::name);
}

class MentionCheck {
 public:
  explicit MentionCheck(const EditState& state)
      : state_(state), graph_(state.graph) {}

  std::optional<Rejection> unmentioned(const Claimants& all) const {
    for (const Claimant& one : all) {
      for (const Claim& claim : one.claims) {
        const auto& [node, pattern, attribute] = claim.what;
        // What a node that stays permits may be carried to another one.
        if (!is_passed_by(node) && !permits(node, attribute->name)) continue;
        if (auto rejection = unmentioned(all, one, claim)) return rejection;
      }
    }
    return std::nullopt;
  }

  std::vector<std::vector<std::size_t>> divide(const Claimants& all) const {
    const auto told_apart = unmentioned_somewhere(all);
    if (told_apart.empty()) return {};
    std::vector<std::vector<std::size_t>> parts;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto same = [&](const std::vector<std::size_t>& part) {
        return goes_with(all[part[0]], all[i], told_apart);
      };
      const auto part = std::ranges::find_if(parts, same);
      if (part == parts.end()) {
        parts.push_back({i});
      } else {
        part->push_back(i);
      }
    }
    if (parts.size() == 1) return {};
    return parts;
  }

 private:
  using Place = std::pair<NodePatternId, std::string_view>;

  // Whether the node is replaced: it is removed, or an output lost a reader and
  // no new or changed node reads that output.
  bool is_passed_by(NodeId node) const {
    if (graph_.node(node).removed) return true;
    bool lost = false;
    for (ValueId v : graph_.outputs(node)) {
      if (!v || std::ranges::find(state_.lost, v) == state_.lost.end()) {
        continue;
      }
      if (stands_for_another(v)) return false;
      lost = true;
    }
    return lost;
  }

  bool stands_for_another(ValueId value) const {
    for (ir::OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
      const NodeId user = graph_.operand(u).user;
      if (state_.is_new(user) ||
          std::ranges::find(state_.moved, user) != state_.moved.end()) {
        return true;
      }
    }
    return std::ranges::find(state_.replacements, value,
                             &ReplacedValue::new_value) !=
           state_.replacements.end();
  }

  // Whether a new node that is still there was built like this one, directly or
  // through others.
  bool is_carried(NodeId node) const {
    SmallVector<NodeId, 8> models;
    models.push_back(node);
    for (std::size_t i = 0; i < models.size(); ++i) {
      for (const auto& [like, made] : state_.carried) {
        if (like != models[i]) continue;
        const NodeId maker = graph_.producer(made);
        const bool is_there =
            maker ? !graph_.node(maker).removed : !graph_.value(made).removed;
        if (is_there) return true;
        // Reused nodes may be built like each other.
        const bool is_known = std::ranges::find(models, maker) != models.end();
        if (maker && !is_known) models.push_back(maker);
      }
    }
    return false;
  }

  bool permits(NodeId node, std::string_view attribute) const {
    const ir::Op& op = graph_.op(node);
    const ops::OpFacts* facts = ops::newest_op(op.domain, op.type);
    return facts != nullptr && facts->permits(attribute);
  }

  bool is_said(NodeId node, std::string_view attribute) const {
    return state_.mentions.has(node, attribute);
  }

  std::optional<Rejection> unmentioned(const Claimants& all,
                                       const Claimant& one,
                                       const Claim& claim) const {
    const auto& [node, pattern, attribute] = claim.what;
    if (is_said(node, attribute->name)) return std::nullopt;
    if (is_carried(node)) return counts_for_another(one, claim);
    if (permits(node, attribute->name)) return std::nullopt;
    // Mentioned for another node of the same op with an equal attribute.
    const auto speaks = [&](const Claimant& of, NodeId twin) {
      return twin && (is_said(twin, attribute->name) || is_carried(twin)) &&
             same(attribute, value(of, twin, attribute->name));
    };
    for (NodeId twin : claim.alike) {
      if (speaks(one, twin)) return std::nullopt;
    }
    for (const Claimant& other : all) {
      if (speaks(other, other.nodes[pattern.index()])) return std::nullopt;
    }
    return Rejection{"attribute '" + printable(attribute->name) + "' of " +
                         graph_.op(node).text() +
                         " is not mentioned by the rule",
                     graph_.describe(node)};
  }

  // For an attribute that a new node keeps: whether a node of the same op with
  // another value is replaced beside it.
  std::optional<Rejection> counts_for_another(const Claimant& one,
                                              const Claim& claim) const {
    const auto& [node, pattern, attribute] = claim.what;
    for (NodeId other : claim.alike) {
      if (!is_passed_by(other) || is_carried(other) ||
          is_said(other, attribute->name) ||
          same(attribute, value(one, other, attribute->name))) {
        continue;
      }
      return Rejection{"attribute '" + printable(attribute->name) + "' of " +
                           graph_.op(node).text() +
                           ", which the rule does not mention, would apply to "
                           "another node",
                       graph_.describe(other)};
    }
    return std::nullopt;
  }

  // The attributes that the rule does not mention at some match.
  std::vector<Place> unmentioned_somewhere(const Claimants& all) const {
    std::set<Place> places;
    for (const Claimant& one : all) {
      for (const Claim& claim : one.claims) {
        places.emplace(claim.what.pattern, claim.what.attribute->name);
      }
    }
    std::vector<Place> out;
    for (const Place& place : places) {
      const bool unmentioned =
          std::ranges::any_of(all, [&](const Claimant& one) {
            const NodeId node = one.nodes[place.first.index()];
            return node && is_passed_by(node) && !is_said(node, place.second);
          });
      if (unmentioned) out.push_back(place);
    }
    return out;
  }

  bool goes_with(const Claimant& a, const Claimant& b,
                 const std::vector<Place>& places) const {
    return std::ranges::all_of(places, [&](const Place& place) {
      return bool(a.nodes[place.first.index()]) ==
                 bool(b.nodes[place.first.index()]) &&
             same(value(a, place), value(b, place));
    });
  }

  // nullptr: at its default.
  static const Attribute* value(const Claimant& one, const Place& place) {
    return value(one, one.nodes[place.first.index()], place.second);
  }
  static const Attribute* value(const Claimant& one, NodeId node,
                                std::string_view attribute) {
    for (const Claim& claim : one.claims) {
      if (claim.what.node == node && claim.what.attribute->name == attribute) {
        return claim.what.attribute;
      }
    }
    return nullptr;
  }

  bool same(const Attribute* a, const Attribute* b) const {
    if (a == nullptr || b == nullptr) return a == b;
    return a->blocks.empty() && b->blocks.empty() &&
           ir::same_value(*a, *b, graph_.model().external.get());
  }

  const EditState& state_;
  const ir::Graph& graph_;
};

}  // namespace

Claimants claimants_of(const ir::Graph& graph, const pattern::Pattern& pattern,
                       std::span<const match::Match* const> matches) {
  Claimants out;
  if (std::ranges::all_of(
          matches, [](const match::Match* m) { return m->unnamed.empty(); })) {
    return out;
  }
  for (const match::Match* m : matches) {
    Claimant& one = out.emplace_back();
    one.nodes.append(m->nodes);
    for (const match::Unnamed& what : m->unnamed) {
      Claim& claim = one.claims.emplace_back(Claim{what, {}});
      for (std::size_t n = 0; n < m->nodes.size(); ++n) {
        const NodeId other = m->nodes[n];
        if (!other || other == what.node ||
            graph.node(other).op != graph.node(what.node).op ||
            names(pattern.nodes()[n], what.attribute->name)) {
          continue;
        }
        claim.alike.push_back(other);
      }
    }
  }
  return out;
}

std::optional<Rejection> find_unmentioned(const EditState& state) {
  const MentionCheck check(state);
  for (const Claimants& all : state.claims) {
    if (auto rejection = check.unmentioned(all)) return rejection;
  }
  return std::nullopt;
}

Rejection goes_with_none() {
  return {
      "attributes that the rule does not mention differ from those of every "
      "other match of its group",
      ""};
}

std::vector<std::vector<std::size_t>> divisions(const EditState& state) {
  if (state.claims.size() != 1 || state.claims[0].size() < 2) return {};
  return MentionCheck(state).divide(state.claims[0]);
}

}  // namespace ruleengine::rewrite
