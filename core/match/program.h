// Program: all patterns of a run, compiled into one immutable object. The
// root's op selects a tree of tests in which rules share their common
// beginnings; alternatives are branches that join again. Thread-safe; it does
// not depend on a model (Machine resolves ops in a model).
#pragma once

#include <memory>
#include <span>

#include "core/pattern/pattern.h"

namespace ruleengine::match {

struct Code;  // instructions; core/match/compile/code.h

class Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const Code& code() const { return *code_; }
  const pattern::Pattern& pattern(std::uint32_t rule) const;
  // The largest number of nodes from a match's root down to its deepest node: a
  // bound for how far an edit can matter. 0: unbounded (`many`).
  std::uint32_t reach() const;

 private:
  friend Program compile(std::span<const pattern::Pattern* const> patterns);
  explicit Program(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

// The patterns must outlive the program. Rule i is patterns[i].
Program compile(std::span<const pattern::Pattern* const> patterns);

}  // namespace ruleengine::match
