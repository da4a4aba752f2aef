// Readers: who reads a value, by op and then by NodeId. Values with many
// readers keep their list until their uses change, so that looking for one
// reader after the other costs no more than the readers; and where only the
// first few are asked for, as after every edit, only these are looked at. Not
// thread-safe.
#ifndef RULEENGINE_CORE_MATCH_RUN_READERS_H_
#define RULEENGINE_CORE_MATCH_RUN_READERS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::match {

struct Reader {
  std::uint32_t op = 0;  // of the program
  ir::NodeId node;
  std::uint64_t slots = 0;  // bits; the last one: any slot from 63 on
};

class Readers {
 public:
  // `ops`: of the program, by OpId; may grow between calls.
  Readers(const ir::Graph& graph, const std::vector<std::uint32_t>& ops)
      : graph_(graph), ops_(ops) {}

  // Readers of this op, ascending. Valid until the next call or edit.
  std::span<const Reader> of(ir::ValueId value, std::uint32_t op);
  // The same one by one, for values with many readers: the reader of that
  // place, none beyond the last.
  bool one_by_one(ir::ValueId value) const {
    const ir::Value& v = graph_.value(value);
    return v.use_count > kFew && !v.uses_mixed;
  }
  std::optional<Reader> at(ir::ValueId value, std::uint32_t op,
                           std::uint32_t place);
  static std::uint64_t slot_bit(std::uint32_t slot) {
    return std::uint64_t{1} << (slot < 63 ? slot : 63);
  }

 private:
  static constexpr std::uint32_t kFew = 16;
  struct Kept {
    std::uint32_t stamp = 0;
    std::vector<Reader> readers;
  };

  // Readers of one op, as far as somebody asked.
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

#endif  // RULEENGINE_CORE_MATCH_RUN_READERS_H_
