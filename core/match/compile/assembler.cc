#include "core/match/compile/assembler.h"

#include <fmt/format.h>

#include <algorithm>

namespace ruleengine::match {
namespace {

// Of an attribute of a pattern or of a node; the names of their kinds agree.
template <typename Attribute>
std::string key_of_literal(const Attribute& a) {
  using Kind = decltype(a.kind);
  switch (a.kind) {
    case Kind::kInt:
      return fmt::format("i{}", a.i);
    case Kind::kString:
      return "s" + std::string(a.s);
    case Kind::kInts:
      return fmt::format("l{}", fmt::join(a.ints, ","));
    default:
      return "";
  }
}

}  // namespace

std::string literal_key(const AttributePattern& a) { return key_of_literal(a); }

std::string literal_key(const ir::Attribute& a) { return key_of_literal(a); }

std::vector<std::uint32_t> Assembler::ops(const NodePattern& node) {
  std::vector<std::uint32_t> out;
  for (const ops::OpName& each : node.ops()) {
    out.push_back(ops_({std::string(each.domain), std::string(each.type)}));
  }
  return out;
}

std::uint32_t Assembler::op(const NodePattern& node) {
  return node.op_class == nullptr ? ops_({node.domain, node.type})
                                  : kOpSet | op_set({.ops = ops(node)});
}

std::uint32_t Assembler::literal(const AttributePattern& literal) {
  return literals_.put(pattern::key_of(literal), literal);
}

std::uint32_t Assembler::fact(Fact fact) {
  fact.subject = TermId();
  fact.line = 0;
  return facts_.put(pattern::key_of(fact), std::move(fact));
}

std::uint32_t Assembler::op_set(OpSet set) {
  std::ranges::sort(set.ops);
  const auto repeated = std::ranges::unique(set.ops);
  set.ops.erase(repeated.begin(), repeated.end());
  return op_sets_(std::move(set));
}

void Assembler::need_frame(std::uint32_t depth, std::uint32_t registers,
                           std::uint32_t scalars) {
  if (code_.frame_registers.size() <= depth) {
    code_.frame_registers.resize(depth + 1);
    code_.frame_scalars.resize(depth + 1);
  }
  code_.frame_registers[depth] =
      std::max(code_.frame_registers[depth], registers);
  code_.frame_scalars[depth] = std::max(code_.frame_scalars[depth], scalars);
}

}  // namespace ruleengine::match
