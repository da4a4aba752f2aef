// Demands: what a pattern asks for whatever else it says, as small numbers: an
// op, a constant, a literal attribute at a place below the root. A pattern that
// fits wherever another does demands nothing that the other does not, so most
// pairs of patterns need no closer look. One Demands, one set of patterns.
#ifndef RULEENGINE_CORE_MATCH_COMPILE_DEMANDS_H_
#define RULEENGINE_CORE_MATCH_COMPILE_DEMANDS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/pattern/pattern.h"

namespace ruleengine::match {

class Demands {
 public:
  // Ascending. Those of the topmost levels, and of a node's first inputs.
  std::vector<std::uint32_t> of(const pattern::Pattern& pattern);

 private:
  void walk(const pattern::Pattern& pattern, pattern::TermId term,
            const std::string& place, std::vector<std::uint32_t>& out);
  std::uint32_t number(std::string text);

  std::unordered_map<std::string, std::uint32_t> known_;
};

}  // namespace ruleengine::match

#endif  // RULEENGINE_CORE_MATCH_COMPILE_DEMANDS_H_
