// Mentions: which nodes the callbacks of a rule looked at, and which attributes
// of matched nodes the rule mentioned outside of its pattern: those that it
// read, and those of nodes that it built another node like. An attribute that
// the rule does not mention must not be lost with its node, nor be applied to
// another node (core/rewrite/edits/unmentioned.h). A plain value.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/ir/graph.h"

namespace ruleengine::rewrite {

class Mentions {
 public:
  void add(ir::NodeId node, std::string_view attribute) {
    all_.emplace(node, attribute);
  }
  void add_node(ir::NodeId node) { nodes_.insert(node); }
  void add(const Mentions& other) {
    all_.insert(other.all_.begin(), other.all_.end());
    nodes_.insert(other.nodes_.begin(), other.nodes_.end());
  }
  bool has(ir::NodeId node, std::string_view attribute) const {
    return all_.contains({node, std::string(attribute)});
  }
  const std::set<ir::NodeId>& nodes() const { return nodes_; }

 private:
  std::set<std::pair<ir::NodeId, std::string>> all_;
  std::set<ir::NodeId> nodes_;
};

}  // namespace ruleengine::rewrite
