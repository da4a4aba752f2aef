// Said: which attributes of matched nodes a rule spoke of beside its pattern:
// those that it read, and those that it gave to a node it built like another.
// What no word of the rule speaks of must not vanish with its node, nor count
// for another node (core/rewrite/unsaid.h). A plain value.
#ifndef RULEENGINE_CORE_REWRITE_SAID_H_
#define RULEENGINE_CORE_REWRITE_SAID_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/ir/graph.h"

namespace ruleengine::rewrite {

class Said {
 public:
  void add(ir::NodeId node, std::string_view attribute) {
    all_.emplace(node, attribute);
  }
  void add(const Said& other) {
    all_.insert(other.all_.begin(), other.all_.end());
  }
  bool has(ir::NodeId node, std::string_view attribute) const {
    return all_.contains({node, std::string(attribute)});
  }

 private:
  std::set<std::pair<ir::NodeId, std::string>> all_;
};

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_SAID_H_
