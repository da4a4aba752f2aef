#include "core/engine/nearest_miss.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/diagnostic.h"
#include "core/base/layout.h"
#include "core/match/machine.h"

namespace ruleengine::engine {
namespace {

// Whether matches may differ in their number of nodes. If so, no total is
// shown.
bool has_branches(const pattern::Pattern& pattern) {
  using pattern::TermKind;
  return std::ranges::any_of(pattern.terms(), [](const pattern::Term& term) {
    return term.kind == TermKind::kEither || term.kind == TermKind::kMany;
  });
}

}  // namespace

std::vector<match::Miss> nearest_misses(const pattern::Pattern& pattern,
                                        ir::Graph& graph, ir::Facts& facts,
                                        std::span<const ir::NodeId> roots,
                                        std::size_t most,
                                        const Deadline& deadline) {
  using Nearness = match::Miss::Nearness;
  std::vector<match::Miss> best;
  const auto further = [](const match::Miss& a, const match::Miss& b) {
    return a.how_far() > b.how_far();
  };
  for (const ir::NodeId root : roots) {
    if (deadline.is_over()) break;
    auto miss = match::explain(pattern, graph, facts, root).miss;
    if (!miss) continue;
    const bool no_root = miss->nearness == Nearness::kNoRoot;
    if (no_root && !best.empty()) continue;
    if (!best.empty() && best[0].nearness == Nearness::kNoRoot) best.clear();
    best.insert(std::ranges::upper_bound(best, *miss, further),
                std::move(*miss));
    if (best.size() > most) best.pop_back();
  }
  const bool none = !best.empty() && best[0].nearness == Nearness::kNoRoot;
  if (none && roots.size() > 1) {
    // All roots failed in the same way, so the first one is not special.
    best[0].root = best[0].node = {};
    best[0].value = {};
    best[0].test = "op of any node";
    best[0].found = "none";
  }
  return best;
}

std::string text_of(const match::Miss& miss, const pattern::Pattern& pattern,
                    const std::string& file, const ir::Graph& graph) {
  const std::size_t all = pattern.nodes().size();
  std::string text;
  const auto line = [&](std::string_view what, std::string_view said) {
    text += fmt::format("{:<10} {}\n", what, said);
  };
  if (miss.root) line("tried at:", printable(graph.describe(miss.root)));
  line("got:",
       has_branches(pattern) ? counted(miss.depth, "node") + " of the pattern"
       : miss.depth < all
           ? fmt::format("{} of {} nodes of the pattern", miss.depth, all)
           : fmt::format("every node of the pattern, and failed a test "
                         "on {}",
                         all == 1 ? "it" : "them"));
  if (miss.node) {
    line("failed at:", printable(graph.describe(miss.node)));
  } else if (miss.value) {
    line("failed at:", "value '" + printable(graph.name(miss.value)) + "'");
  }
  line("test:", fmt::format("{} ({}:{})", printable(miss.test), printable(file),
                            miss.line));
  line("expected:", printable(miss.expected));
  line("found:", printable(miss.found));
  return text;
}

std::vector<ir::NodeId> all_nodes(const ir::Graph& graph) {
  std::vector<ir::NodeId> out;
  std::ranges::copy(graph.live_nodes(), std::back_inserter(out));
  return out;
}

}  // namespace ruleengine::engine
