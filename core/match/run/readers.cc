#include "core/match/run/readers.h"

#include <algorithm>
#include <tuple>

namespace ruleengine::match {

void Readers::list(ir::ValueId value, std::vector<Reader>& out) const {
  out.clear();
  for (ir::OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
    const ir::NodeId user = graph_.operand(u).user;
    out.push_back({ops_[graph_.node(user).op.index()], user,
                   slot_bit(graph_.operand_index(u))});
  }
  const auto before = [](const Reader& a, const Reader& b) {
    return std::tie(a.op, a.node) < std::tie(b.op, b.node);
  };
  if (!std::ranges::is_sorted(out, before)) std::ranges::sort(out, before);
  // A node that reads the value at several slots is one reader.
  std::size_t kept = 0;
  for (const Reader& reader : out) {
    if (kept > 0 && out[kept - 1].node == reader.node) {
      out[kept - 1].slots |= reader.slots;
    } else {
      out[kept++] = reader;
    }
  }
  out.resize(kept);
}

// The user of `use` with all its slots that follow in the list; `use` becomes
// the first use of the next user.
Reader Readers::take(ir::OperandId& use) const {
  const ir::NodeId user = graph_.operand(use).user;
  Reader reader{ops_[graph_.node(user).op.index()], user, 0};
  for (; use && graph_.operand(use).user == user; use = graph_.next_use(use)) {
    reader.slots |= slot_bit(graph_.operand_index(use));
  }
  return reader;
}

std::optional<Reader> Readers::at(ir::ValueId value, std::uint32_t op,
                                  std::uint32_t place) {
  const ir::Value& v = graph_.value(value);
  Begun& begun = begun_[std::uint64_t{value.index()} << 32 | op];
  if (begun.stamp != v.use_stamp) {
    begun = {.stamp = v.use_stamp, .readers = {}, .next = v.first_use};
  }
  while (begun.readers.size() <= place && begun.next) {
    const Reader reader = take(begun.next);
    if (reader.op == op) begun.readers.push_back(reader);
  }
  if (place >= begun.readers.size()) return std::nullopt;
  return begun.readers[place];
}

std::span<const Reader> Readers::of(ir::ValueId value, std::uint32_t op) {
  const ir::Value& v = graph_.value(value);
  std::vector<Reader>* all = &few_;
  if (v.use_count <= kFew) {
    list(value, few_);
  } else {
    Kept& kept = kept_[value];
    if (kept.stamp != v.use_stamp) {
      list(value, kept.readers);
      kept.stamp = v.use_stamp;
    }
    all = &kept.readers;
  }
  return std::ranges::equal_range(*all, op, {}, &Reader::op);
}

}  // namespace ruleengine::match
