// Program: all patterns of a run compiled into one immutable thing. Dispatch on
// the root's op leads to a tree of tests that rules with a common beginning
// share; alternatives are branches that join again. Reading it is thread-safe;
// it does not know any model (ops are bound to a model by Machine).
#ifndef RULEENGINE_CORE_MATCH_PROGRAM_H_
#define RULEENGINE_CORE_MATCH_PROGRAM_H_

#include <memory>
#include <span>
#include <string>

#include "core/pattern/pattern.h"

namespace ruleengine::match {

struct Code;  // instructions; core/match/compile/code.h

class Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // The instructions as text, one a line, deterministic; tests read it.
  std::string dump() const;
  const Code& code() const { return *code_; }
  const pattern::Pattern& pattern(std::uint32_t rule) const;
  // The longest chain of nodes a match can span downwards; a bound for how far
  // an edit can matter. 0: unbounded (`many`).
  std::uint32_t reach() const;

 private:
  friend Program compile(std::span<const pattern::Pattern* const> patterns);
  explicit Program(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

// The patterns must outlive the program. Rule i is patterns[i].
Program compile(std::span<const pattern::Pattern* const> patterns);

}  // namespace ruleengine::match

#endif  // RULEENGINE_CORE_MATCH_PROGRAM_H_
