#include "core/text/equivalent.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/text/print.h"
#include "core/text/write/numbering.h"

namespace ruleengine::text {
namespace {

using ir::NodeId;
using ir::ValueId;

using Difference = std::optional<std::string>;

std::string counted(std::size_t n, const std::string& op) {
  return (n == 0 ? "no" : std::to_string(n)) + " " + op;
}

std::string differ(const std::string& what, const std::string& expected,
                   const std::string& found) {
  return what + ": expected " + expected + ", found " + found;
}

class Comparison {
 public:
  Comparison(Side& expected, Side& found, Numbering& numbering)
      : a_(expected), b_(found), numbering_(numbering) {}

  Difference run(bool formal) {
    if (auto d = interface("input", main(a_).inputs, main(b_).inputs, formal)) {
      return d;
    }
    if (auto d =
            interface("output", main(a_).outputs, main(b_).outputs, formal)) {
      return d;
    }
    if (auto d = ops()) return d;
    if (auto d = nodes()) return d;
    return outputs();
  }

 private:
  static const ir::Block& main(const Side& side) {
    return side.graph->block(ir::Graph::main_block());
  }

  // The values of a function's body are local: their names and types are
  // ignored.
  Difference interface(const std::string& what,
                       const std::vector<ValueId>& expected,
                       const std::vector<ValueId>& found, bool formal) const {
    if (expected.size() != found.size()) {
      return differ("number of " + what + "s", std::to_string(expected.size()),
                    std::to_string(found.size()));
    }
    for (std::size_t i = 0; i < expected.size() && !formal; ++i) {
      const std::string_view x = a_.graph->name(expected[i]);
      const std::string_view y = b_.graph->name(found[i]);
      const std::string place = what + " " + std::to_string(i);
      if (x != y)
        return differ("name of " + place, quoted_name(x, 60),
                      quoted_name(y, 60));
      const std::string t =
          type_text(*a_.model, a_.graph->value(expected[i]).declared);
      const std::string u =
          type_text(*b_.model, b_.graph->value(found[i]).declared);
      if (t != u && t != "?" && u != "?") {
        return differ("type of " + what + " " + quoted_name(x, 60), t, u);
      }
    }
    return std::nullopt;
  }

  Difference ops() const {
    std::map<std::string, std::pair<std::size_t, std::size_t>> counts;
    for (NodeId n : a_.nodes) ++counts[a_.graph->op(n).text()].first;
    for (NodeId n : b_.nodes) ++counts[b_.graph->op(n).text()].second;
    std::string expected, found;
    for (const auto& [op, count] : counts) {
      if (count.first == count.second) continue;
      expected += (expected.empty() ? "" : ", ") + counted(count.first, op);
      found += (found.empty() ? "" : ", ") + counted(count.second, op);
    }
    if (expected.empty()) return std::nullopt;
    return "expected " + expected + "; found " + found;
  }

  // Describes the first node, in order, that has no counterpart, and the one
  // most like it.
  Difference nodes() {
    std::unordered_map<Number, std::ptrdiff_t> left;
    for (Number n : a_.node_numbers) ++left[n];
    for (Number n : b_.node_numbers) --left[n];
    for (std::size_t i = 0; i < a_.nodes.size(); ++i) {
      if (left[a_.node_numbers[i]] <= 0) continue;
      const ir::Op& op = a_.graph->op(a_.nodes[i]);
      for (std::size_t j = 0; j < b_.nodes.size(); ++j) {
        if (left[b_.node_numbers[j]] < 0 &&
            b_.graph->op(b_.nodes[j]).text() == op.text()) {
          return explain(a_.nodes[i], b_.nodes[j]);
        }
      }
      return "a node is not found: " + a_.graph->describe(a_.nodes[i]);
    }
    return std::nullopt;
  }

  std::string explain(NodeId expected, NodeId found) {
    const std::string at = printable(b_.graph->describe(found));
    if (auto d = explain_attributes(expected, found)) return at + ": " + *d;
    if (auto d = explain_inputs(expected, found)) return at + ": " + *d;
    return at + ": " +
           differ("number of outputs",
                  std::to_string(Numbering::output_count(a_, expected)),
                  std::to_string(Numbering::output_count(b_, found)));
  }

  Difference explain_attributes(NodeId expected, NodeId found) {
    std::map<std::string_view, std::pair<std::string, std::string>> keys;
    for (auto& a : numbering_.attributes(a_, expected))
      keys[a.name].first = a.key;
    for (auto& a : numbering_.attributes(b_, found))
      keys[a.name].second = a.key;
    const auto text = [](const Side& side, NodeId node, std::string_view name) {
      const ir::Attribute* a = side.graph->attribute(node, name);
      return a == nullptr ? "none or its default"
                          : "'" + attribute_text(*side.graph, *a) + "'";
    };
    for (const auto& [name, key] : keys) {
      if (key.first == key.second) continue;
      return differ("attribute " + printable(name), text(a_, expected, name),
                    text(b_, found, name));
    }
    return std::nullopt;
  }

  Difference explain_inputs(NodeId expected, NodeId found) {
    const auto x = numbering_.inputs(a_, expected);
    const auto y = numbering_.inputs(b_, found);
    if (x.size() != y.size()) {
      return differ("number of inputs", std::to_string(x.size()),
                    std::to_string(y.size()));
    }
    const ir::Op& op = a_.graph->op(expected);
    const bool any_order = ops::is_commutative(op.domain, op.type);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const ValueId p = a_.graph->input(expected, i);
      const ValueId q = b_.graph->input(found, i);
      const Number n = numbering_.value(a_, p);
      if (n == numbering_.value(b_, q)) continue;
      if (any_order && std::ranges::count(x, n) == std::ranges::count(y, n)) {
        continue;
      }
      return differ("input " + std::to_string(i), describe(a_, p),
                    describe(b_, q));
    }
    return std::nullopt;
  }

  std::string describe(const Side& side, ValueId value) const {
    if (!value) return "nothing";
    const ir::Graph& graph = *side.graph;
    if (const ir::Literal* t = graph.direct_constant(value)) {
      return tensor_text(*t, side.model->external.get(), {});
    }
    const NodeId producer = graph.producer(value);
    const std::string name = quoted_name(graph.name(value), 60);
    if (!producer) return name;
    return "output " + std::to_string(graph.value(value).output_index) +
           " of " + printable(graph.op(producer).text()) + " (" + name + ")";
  }

  Difference outputs() {
    for (std::size_t i = 0; i < main(a_).outputs.size(); ++i) {
      const ValueId x = main(a_).outputs[i], y = main(b_).outputs[i];
      if (numbering_.value(a_, x) == numbering_.value(b_, y)) continue;
      return differ("output " + quoted_name(a_.graph->name(x), 60),
                    describe(a_, x), describe(b_, y));
    }
    return std::nullopt;
  }

  Side& a_;
  Side& b_;
  Numbering& numbering_;
};

// Model-local functions by their op as text.
using Functions = std::map<std::string, const ir::Function*>;

Functions functions_of(const ir::Model& model) {
  Functions out;
  for (const auto& f : model.functions) {
    if (f->removed) continue;
    out.emplace(ir::Op{f->domain, f->name, f->overload}.text(), f.get());
  }
  return out;
}

class Models {
 public:
  Models(const ir::Model& a, const ir::Model& b)
      : a_(a),
        b_(b),
        functions_a_(functions_of(a)),
        functions_b_(functions_of(b)) {}

  // Compares the main graphs, then all functions called from what was compared.
  Difference run() {
    auto d = graphs({.model = &a_, .graph = &a_.graph},
                    {.model = &b_, .graph = &b_.graph}, false);
    while (!d && !waiting_.empty()) {
      const std::string name = waiting_.back();
      waiting_.pop_back();
      d = function(name);
      if (d) d = "in the function " + printable(name) + ": " + *d;
    }
    return d;
  }

 private:
  Difference graphs(Side a, Side b, bool formal) {
    Numbering numbering;
    if (const auto s = numbering.run(a); !s) {
      return "expected: " + s.error().what;
    }
    if (const auto s = numbering.run(b); !s) return "found: " + s.error().what;
    for (const Side* side : {&a, &b}) {
      for (NodeId n : side->nodes) {
        const std::string op = side->graph->op(n).text();
        if (!functions_a_.contains(op) && !functions_b_.contains(op)) continue;
        if (seen_.insert(op).second) waiting_.push_back(op);
      }
    }
    return Comparison(a, b, numbering).run(formal);
  }

  Difference function(const std::string& name) {
    const auto x = functions_a_.find(name), y = functions_b_.find(name);
    if (x == functions_a_.end()) return "expected none, found one";
    if (y == functions_b_.end()) return "expected one, found none";
    const ir::Function& f = *x->second;
    const ir::Function& g = *y->second;
    if (f.attributes != g.attributes) return "the attributes differ";
    return graphs({.model = &a_, .graph = &f.body},
                  {.model = &b_, .graph = &g.body}, true);
  }

  const ir::Model& a_;
  const ir::Model& b_;
  Functions functions_a_, functions_b_;
  std::set<std::string> seen_;
  std::vector<std::string> waiting_;
};

}  // namespace

std::optional<std::string> difference(const ir::Model& expected,
                                      const ir::Model& found) {
  return Models(expected, found).run();
}

}  // namespace ruleengine::text
