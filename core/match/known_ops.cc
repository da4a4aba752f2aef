#include "core/match/known_ops.h"

#include <algorithm>

#include "core/match/compile/code.h"

namespace ruleengine::match {

KnownOps::KnownOps(const Program& program) {
  const Code& code = program.code();
  for (std::uint32_t i = 0; i < code.ops.size(); ++i) {
    names_[{code.ops[i].first, code.ops[i].second}] = i;
  }
  starts_.resize(code.ops.size());
  for (std::uint32_t i = 0; i < code.starts.size(); ++i) {
    for (std::uint32_t op : code.starts[i].ops) starts_[op].push_back(i);
  }
  for (std::vector<std::uint32_t>& of_op : starts_) {
    std::ranges::stable_sort(
        of_op, {}, [&](std::uint32_t s) { return code.starts[s].output; });
  }
}

void KnownOps::learn(const ir::OpTable& table) {
  for (std::size_t i = ops_.size(); i < table.size(); ++i) {
    const ir::Op& op = table[ir::OpId(i)];
    const auto known = names_.find({op.domain, op.type});
    ops_.push_back(known == names_.end() ? kNone : known->second);
  }
}

}  // namespace ruleengine::match
