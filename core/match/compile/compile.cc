#include <algorithm>

#include "core/match/compile/emitter.h"
#include "core/match/program.h"

namespace ruleengine::match {
namespace {

// The number of nodes on the longest path down from a result; 0 when unbounded.
std::uint32_t reach_of(const Pattern& pattern) {
  std::vector<std::uint32_t> height(pattern.terms().size(), 0);
  std::uint32_t reach = 0;
  for (std::size_t i = 0; i < height.size(); ++i) {
    const Term& t = pattern.terms()[i];
    if (t.kind == TermKind::kMany) return 0;
    pattern::for_each_part(pattern, TermId(i), [&](TermId part) {
      height[i] = std::max(height[i], height[part.index()]);
    });
    if (t.kind == TermKind::kOutput) ++height[i];
    reach = std::max(reach, height[i]);
  }
  return reach;
}

}  // namespace

Program::Program(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

const Pattern& Program::pattern(std::uint32_t rule) const {
  return *code_->rules[rule].pattern;
}

std::uint32_t Program::reach() const { return code_->reach; }

Program compile(std::span<const Pattern* const> patterns) {
  auto code = std::make_unique<Code>();
  Assembler assembler(*code);
  bool bounded = true;
  for (const Pattern* pattern : patterns) {
    code->rules.push_back(prepare(*pattern));
    const std::uint32_t reach = reach_of(*pattern);
    bounded = bounded && reach > 0;
    code->reach = std::max(code->reach, reach);
  }
  if (!bounded) code->reach = 0;
  code->reports.resize(patterns.size());
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    Emitter(assembler, code->rules[i]).emit(i, code->reports[i]);
  }
  assembler.finish();
  return Program(std::move(code));
}

}  // namespace ruleengine::match
