// Sharing: tracks what is bound on every way of matching, and which other terms
// can be found from there by going up from inputs to the nodes that read them.
// The pattern must outlive it; not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "core/pattern/pattern.h"

namespace ruleengine::pattern {

class Sharing {
 public:
  explicit Sharing(const Pattern& pattern);

  // `root` has matched: binds what every way of matching it binds.
  void bind(TermId root);

  bool bound(TermId term) const { return bound_[term.index()]; }
  bool bound(VariableId variable) const { return variables_[variable.index()]; }
  // By term: the number of nodes up from what is bound; kCannot when some way
  // of matching the term cannot be reached like that.
  static constexpr std::uint32_t kCannot = 0xffffffffu;
  std::vector<std::uint32_t> climbs() const;

 private:
  void bind_parts(TermId id, std::vector<TermId>& todo);
  std::uint32_t climb(const Term& term,
                      const std::vector<std::uint32_t>& below) const;

  const Pattern* pattern_;
  std::vector<bool> bound_;      // by term
  std::vector<bool> variables_;  // by variable
  std::shared_ptr<const std::vector<std::vector<bool>>> always_;
};

}  // namespace ruleengine::pattern
