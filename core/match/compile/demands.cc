#include "core/match/compile/demands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ruleengine::match {
namespace {

// A small depth: patterns that share parts would otherwise be unfolded without
// end.
constexpr std::size_t kDeepest = 4;
constexpr std::size_t kMostInputs = 4;

}  // namespace

std::uint32_t Demands::number(std::string text) {
  const auto next = static_cast<std::uint32_t>(known_.size());
  return known_.emplace(std::move(text), next).first->second;
}

void Demands::walk(const Pattern& pattern, pattern::TermId id,
                   const std::string& place, std::vector<std::uint32_t>& out) {
  const Term& term = pattern[id];
  if (term.kind == TermKind::kAbsent) out.push_back(number(place + " -"));
  if (term.kind == TermKind::kNumbers) {
    out.push_back(
        number(fmt::format("{} ={} {}", place, term.scalar, term.numbers)));
  }
  if (term.kind != TermKind::kOutput) return;
  const NodePattern& node = pattern[term.node];
  if (node.op_class == nullptr) {  // a class may cover any of its ops
    out.push_back(number(fmt::format("{} {} {}::{}", place, term.output,
                                     node.domain, node.type)));
  }
  for (const AttributePattern& a : node.attributes) {
    using Kind = AttributePattern::Kind;
    if (a.kind == Kind::kAny || a.kind == Kind::kVariable) continue;
    out.push_back(number(place + " " + pattern::key_of(a)));
  }
  if (place.size() >= kDeepest) return;
  const std::size_t inputs = std::min(node.inputs.size(), kMostInputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    walk(pattern, node.inputs[i], place + static_cast<char>('a' + i), out);
  }
}

std::vector<std::uint32_t> Demands::of(const Pattern& pattern) {
  std::vector<std::uint32_t> out;
  walk(pattern, pattern.results()[0], "", out);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace ruleengine::match
