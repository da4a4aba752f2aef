// KnownOps: how a Program numbers the ops of one Model, and where it starts for
// each. Machines over the graphs of a model share one, since a model may have
// many functions. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ir/op.h"
#include "core/match/program.h"

namespace ruleengine::match {

class KnownOps {
 public:
  explicit KnownOps(const Program& program);

  // The program's number of each op, by OpId; kNone for ops that no rule names.
  const std::vector<std::uint32_t>& ops() const { return ops_; }
  // Adds the ops that were interned since the last call.
  void learn(const ir::OpTable& table);
  // The starts of the program for one of its ops, by output.
  const std::vector<std::uint32_t>& starts(std::uint32_t op) const {
    return starts_[op];
  }

 private:
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> names_;
  std::vector<std::uint32_t> ops_;
  std::vector<std::vector<std::uint32_t>> starts_;
};

}  // namespace ruleengine::match
