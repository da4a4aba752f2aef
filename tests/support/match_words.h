// For tests of single words: every match of a pattern in a graph as text, found
// both by the Machine and by the oracle.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "core/text/parse.h"
#include "tests/support/match_draft.h"

namespace ruleengine::match::testing {

inline std::string bound_text(const ir::Graph& graph, const Bound& bound) {
  switch (bound.kind) {
    case Bound::Kind::kNothing:
      return "-";
    case Bound::Kind::kValue:
      return std::string(graph.name(bound.value)) +
             (bound.transposed ? ".T" : "");
    case Bound::Kind::kNode:
      return "@" + std::string(graph.name(graph.output(bound.node)));
    case Bound::Kind::kDim:
      return graph.model().dims.text(bound.dim);
    case Bound::Kind::kAttribute:
      return bound.attribute->kind == ir::AttributeKind::kInt
                 ? std::to_string(bound.attribute->i) + "i"
                 : "attribute";
    case Bound::Kind::kList:
    case Bound::Kind::kRecord: {
      const bool list = bound.kind == Bound::Kind::kList;
      std::string out = list ? "[" : "{";
      for (const Bound& one : bound.list) {
        if (out.size() > 1) out += " ";
        out += bound_text(graph, one);
      }
      return out + (list ? "]" : "}");
    }
  }
  return "?";
}

inline std::string match_text(const ir::Graph& graph,
                              const pattern::Pattern& pattern,
                              const Match& match) {
  std::string out;
  for (ir::ValueId v : match.results) {
    out += (out.empty() ? "" : ",") + std::string(v ? graph.name(v) : "-");
  }
  out += " {";
  for (ir::NodeId n : match.consumed) {
    if (out.back() != '{') out += " ";
    out += graph.name(graph.output(n));
  }
  out += "}";
  for (std::size_t i = 0; i < match.bound.size(); ++i) {
    out += " " + pattern.variables()[i].name + "=" +
           bound_text(graph, match.bound[i]);
  }
  return out;
}

// Every match of the pattern in the graph, one per line.
inline std::string matches(const std::function<void(Draft&)>& build,
                           std::string_view text) {
  Draft d;
  build(d);
  if (d.error) return d.error->text();
  const Result<pattern::Pattern> pattern = d.finish();
  if (!pattern.ok()) return pattern.error().text();
  auto model = text::parse_model(text);
  if (!model.ok()) return model.error().text();
  ir::Graph& graph = (*model)->graph;
  DeclaredFacts facts(graph);
  const pattern::Pattern* one = &*pattern;
  const Program program = compile({&one, 1});
  Machine machine(program, graph, facts);
  std::string out;
  for (std::size_t n = 0; n < graph.node_count(); ++n) {
    const ir::NodeId root(n);
    std::vector<Match> found;
    machine.run(root, {}, found);
    std::optional<Match> expected = naive_match(*one, graph, facts, root);
    REQUIRE(found.size() == (expected ? 1 : 0));
    if (!expected) continue;
    CHECK(match_text(graph, *one, found[0]) ==
          match_text(graph, *one, *expected));
    out += match_text(graph, *one, found[0]) + "\n";
  }
  return out;
}

}  // namespace ruleengine::match::testing
