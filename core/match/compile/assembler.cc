#include "core/match/compile/assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace ruleengine::match {
namespace {

std::string bits_of(const std::vector<double>& numbers) {
  std::string out;
  for (double n : numbers) {
    out += fmt::format("{:x},", std::bit_cast<std::uint64_t>(n));
  }
  return out;
}

std::string key_of(const AttributePattern& a) {
  std::string out =
      fmt::format("{}|{}|{}|{}|{}|", a.name, static_cast<int>(a.kind), a.i,
                  bits_of({a.f}), bits_of(a.floats));
  out += fmt::format("{}|{}:{}|", fmt::join(a.ints, ","), a.s.size(), a.s);
  for (const std::string& s : a.strings) {
    out += fmt::format("{}:{},", s.size(), s);
  }
  return out;
}

std::string key_of(const Fact& f) {
  std::string out = fmt::format("{}|{}|{}|{}|", static_cast<int>(f.kind),
                                f.has_dims, f.ellipsis, f.number);
  for (const Fact::DimPattern& d : f.dims) {
    out += fmt::format("{}:{}:{},", static_cast<int>(d.kind), d.letter.index(),
                       d.number);
  }
  for (ir::DataType type : f.types) {
    out += fmt::format("|{}", static_cast<int>(type));
  }
  return out;
}

}  // namespace

std::string literal_key(const AttributePattern& a) {
  if (a.name == "axis") return "";  // may be counted from either end
  switch (a.kind) {
    case AttributePattern::Kind::kInt:
      return fmt::format("i{}", a.i);
    case AttributePattern::Kind::kString:
      return "s" + a.s;
    case AttributePattern::Kind::kInts:
      return fmt::format("l{}", fmt::join(a.ints, ","));
    default:
      return "";
  }
}

std::string literal_key(const ir::Attribute& a) {
  switch (a.kind) {
    case ir::AttributeKind::kInt:
      return fmt::format("i{}", a.i);
    case ir::AttributeKind::kString:
      return "s" + std::string(a.s);
    case ir::AttributeKind::kInts:
      return fmt::format("l{}", fmt::join(a.ints, ","));
    default:
      return "";
  }
}

std::uint32_t Assembler::op(std::string_view domain, std::string_view type) {
  return keep(ops_, code_.ops, {std::string(domain), std::string(type)});
}

std::vector<std::uint32_t> Assembler::ops(const NodePattern& node) {
  std::vector<std::uint32_t> out;
  for (const ops::OpName& each : node.ops()) {
    out.push_back(op(each.domain, each.type));
  }
  return out;
}

std::uint32_t Assembler::op(const NodePattern& node) {
  return node.op_class == nullptr ? op(node.domain, node.type)
                                  : kOpSet | op_set({.ops = ops(node)});
}

std::uint32_t Assembler::name(const std::string& name) {
  return keep(names_, code_.names, name);
}

std::uint32_t Assembler::name_list(std::vector<std::string> names) {
  return keep(name_lists_, code_.name_lists, std::move(names));
}

std::uint32_t Assembler::literal(const AttributePattern& literal) {
  const auto [at, is_new] = literals_.try_emplace(
      key_of(literal), static_cast<std::uint32_t>(code_.literals.size()));
  if (is_new) code_.literals.push_back(literal);
  return at->second;
}

std::uint32_t Assembler::numbers(bool scalar, std::vector<double> numbers) {
  return keep(numbers_, code_.numbers, {scalar, std::move(numbers)});
}

std::uint32_t Assembler::fact(Fact fact) {
  fact.subject = TermId();
  fact.line = 0;
  const auto [at, is_new] = facts_.try_emplace(
      key_of(fact), static_cast<std::uint32_t>(code_.facts.size()));
  if (is_new) code_.facts.push_back(std::move(fact));
  return at->second;
}

std::uint32_t Assembler::op_set(OpSet set) {
  std::ranges::sort(set.ops);
  const auto repeated = std::ranges::unique(set.ops);
  set.ops.erase(repeated.begin(), repeated.end());
  return keep(op_sets_, code_.op_sets, std::move(set));
}

std::uint32_t Assembler::inputs(Inputs inputs) {
  return keep(inputs_, code_.inputs, std::move(inputs));
}

std::uint32_t Assembler::branches(Branches branches) {
  return keep(branches_, code_.branches, std::move(branches));
}

std::uint32_t Assembler::block_list(std::vector<std::uint32_t> blocks) {
  return keep(block_lists_, code_.block_lists, std::move(blocks));
}

std::uint32_t Assembler::chain(Chain chain) {
  return keep(chains_, code_.chains, std::move(chain));
}

std::uint32_t Assembler::climb(Climb climb) {
  return keep(climbs_, code_.climbs, std::move(climb));
}

std::uint32_t Assembler::search(Search search) {
  return keep(searches_, code_.searches, std::move(search));
}

std::uint32_t Assembler::table(Table table) {
  return keep(tables_, code_.tables, std::move(table));
}

std::uint32_t Assembler::block(Sequence sequence) {
  return keep(block_ids_, blocks_, std::move(sequence));
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
