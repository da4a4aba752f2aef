// Readers: the nodes that read a value, by op and then by NodeId. For values
// with many readers the list is cached until their uses change, so that the
// search for one reader after the other is linear in the readers; if only the
// first few are needed, as after every edit, only these are visited. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"
#include "core/match/compile/code.h"

namespace ruleengine::match {

struct Reader {
  std::uint32_t op = 0;  // the program's number
  ir::NodeId node;
  std::uint64_t slots = 0;  // of slot_bit
};

class Readers {
 public:
  // `ops`: the program's numbers of ops, by OpId; may grow between calls.
  Readers(const ir::Graph& graph, const std::vector<std::uint32_t>& ops)
      : graph_(graph), ops_(ops) {}

  // The readers of this op, ascending. Valid until the next call or edit.
  std::span<const Reader> of(ir::ValueId value, std::uint32_t op);
  // The same one by one, for values with many readers: the reader at an index,
  // none beyond the last.
  bool one_by_one(ir::ValueId value) const {
    const ir::Value& v = graph_.value(value);
    return v.use_count > kFew && !v.uses_mixed;
  }
  std::optional<Reader> at(ir::ValueId value, std::uint32_t op,
                           std::uint32_t place);

 private:
  static constexpr std::uint32_t kFew = 16;
  struct Kept {
    std::uint32_t stamp = 0;
    std::vector<Reader> readers;
  };

  // The readers of one op that were found so far.
  struct Begun {
    std::uint32_t stamp = 0;
    std::vector<Reader> readers;
    ir::OperandId next;
  };

  void list(ir::ValueId value, std::vector<Reader>& out) const;
  Reader take(ir::OperandId& use) const;

  const ir::Graph& graph_;
  const std::vector<std::uint32_t>& ops_;
  std::unordered_map<ir::ValueId, Kept> kept_;
  std::unordered_map<std::uint64_t, Begun> begun_;  // by value and op
  std::vector<Reader> few_;
};

}  // namespace ruleengine::match
