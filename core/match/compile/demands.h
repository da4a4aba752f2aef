// Demands: what a pattern requires in every case, as small numbers: an op, a
// constant, or a literal attribute at a place below the root. If a pattern fits
// wherever another one does, its demands are a subset of the other's, so most
// pairs of patterns need no closer comparison. One Demands for one set of
// patterns.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/match/compile/prepared.h"

namespace ruleengine::match {

class Demands {
 public:
  // Ascending. Covers the topmost levels, and the first inputs of a node.
  std::vector<std::uint32_t> of(const Pattern& pattern);

 private:
  void walk(const Pattern& pattern, TermId term, const std::string& place,
            std::vector<std::uint32_t>& out);
  std::uint32_t number(std::string text);

  std::unordered_map<std::string, std::uint32_t> known_;
};

}  // namespace ruleengine::match
