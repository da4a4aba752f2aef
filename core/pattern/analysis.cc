#include <algorithm>

#include "core/pattern/check.h"

namespace ruleengine::pattern {

bool NodePattern::fits(std::string_view op_domain,
                       std::string_view op_type) const {
  return op_class != nullptr ? op_class->has(op_domain, op_type)
                             : type == op_type && domain == op_domain;
}

std::vector<ops::OpName> NodePattern::ops() const {
  if (op_class == nullptr) return {{domain, type}};
  return {op_class->ops.begin(), op_class->ops.end()};
}

bool NodePattern::shares_op(const NodePattern& other) const {
  return std::ranges::any_of(ops(), [&](const ops::OpName& op) {
    return other.fits(op.domain, op.type);
  });
}

std::size_t certain_inputs(const NodePattern& node) {
  std::size_t certain = node.inputs.size();
  for (const auto& permutation : node.permutations) {
    certain = std::min(certain, permutation.size());
  }
  return certain;
}

namespace {

// Walks the terms from the results down: the parts of a term have smaller ids,
// so every term is finished before its parts.
class Walker {
 public:
  explicit Walker(const Pattern& pattern) : pattern_(pattern) {
    out_.terms.resize(pattern.terms().size());
    out_.nodes.resize(pattern.nodes().size());
    out_.variables.assign(pattern.variables().size(), kUnreached);
  }

  Analysis run() {
    find_free_holes();
    Reach top;
    top.depth = 0;
    top.positive = top.consumed = true;
    for (TermId result : pattern_.results()) enter(result, top);
    for (TermId condition : pattern_.conditions()) enter(condition, top);
    for (std::size_t i = pattern_.terms().size(); i-- > 0;) {
      if (out_.terms[i].depth != kUnreached) expand(TermId(i));
    }
    for (FactId fact : pattern_.global_facts()) {
      letters(pattern_[fact], kUnreached);
    }
    return std::move(out_);
  }

 private:
  void find_free_holes() {
    out_.free_holes.assign(pattern_.terms().size(), 0);
    for (std::size_t i = 0; i < pattern_.terms().size(); ++i) {
      const Term& term = pattern_.terms()[i];
      std::uint32_t free = 0;
      if (term.kind == TermKind::kHole) {
        free = term.output < kMaxChainNesting ? 1u << term.output : 0;
      } else if (term.kind == TermKind::kMany) {
        free = (out_.free_holes[term.step.index()] &
                ~(term.output < kMaxChainNesting ? 1u << term.output : 0)) |
               out_.free_holes[term.base.index()];
      } else {
        for_each_part(pattern_, TermId(i), [&](TermId part) {
          free |= out_.free_holes[part.index()];
        });
      }
      out_.free_holes[i] = free;
    }
  }

  void merge(Reach& to, const Reach& way, std::uint32_t free_holes) {
    if (to.depth != kUnreached) {
      for (std::uint32_t hole = 0; hole < kMaxChainNesting; ++hole) {
        if ((free_holes >> hole & 1) != 0 &&
            to.chains[hole] != way.chains[hole]) {
          to.entangled = true;
        }
      }
    }
    if (way.depth < to.depth) {
      to.depth = way.depth;
      to.chains = way.chains;
    }
    to.positive |= way.positive;
    to.consumed |= way.consumed;
    ++to.ways;
  }

  void enter(TermId term, const Reach& way) {
    merge(out_.terms[term.index()], way, out_.free_holes[term.index()]);
  }

  void use(VariableId variable, std::uint32_t depth) {
    if (!variable) return;
    std::uint32_t& known = out_.variables[variable.index()];
    known = std::min(known, depth);
  }

  // The letters of a fact count at the depth of its subject.
  void letters(const Fact& fact, std::uint32_t depth) {
    depth = std::min(depth, out_.terms[fact.subject.index()].depth);
    if (depth == kUnreached) return;
    for (const Fact::DimPattern& dim : fact.dims) use(dim.letter, depth);
  }

  void expand(TermId id) {
    const Term& term = pattern_[id];
    Reach way = out_.terms[id.index()];
    way.ways = 0;
    use(term.variable, way.depth);
    switch (term.kind) {
      case TermKind::kOutput:
        expand_node(term.node, way, out_.terms[id.index()].ways);
        return;
      case TermKind::kEither:
        for (const Alternative& a : term.alternatives) {
          for (FactId fact : a.facts) letters(pattern_[fact], way.depth);
        }
        break;
      case TermKind::kMany: {
        for (VariableId tag : term.tags) use(tag, way.depth);
        enter(term.base, way);
        Reach step = way;
        ++step.depth;
        if (term.output < kMaxChainNesting) {
          step.chains[term.output] = static_cast<std::uint8_t>(step.depth);
        }
        enter(term.step, step);
        return;
      }
      case TermKind::kNever:
        way.positive = way.consumed = false;
        break;
      case TermKind::kContext:
        way.consumed = false;
        break;
      default:
        break;
    }
    // Such a term only passes its value on: the term below is named as often as
    // this one.
    const bool passes_on = term.kind == TermKind::kContext ||
                           term.kind == TermKind::kNever ||
                           term.kind == TermKind::kTranspose;
    const std::uint32_t places = passes_on ? out_.terms[id.index()].ways : 1;
    for_each_part(pattern_, id, [&](TermId part) {
      enter(part, way);
      out_.terms[part.index()].ways += places - 1;
    });
  }

  void expand_node(NodePatternId id, const Reach& way, std::uint32_t places) {
    const NodePattern& node = pattern_[id];
    const bool first = out_.nodes[id.index()].depth == kUnreached;
    merge(out_.nodes[id.index()], way, 0);
    out_.nodes[id.index()].ways += places - 1;
    for (VariableId tag : node.tags) use(tag, way.depth);
    for (const AttributePattern& a : node.attributes)
      use(a.variable, way.depth);
    for (TermId input : node.inputs) {
      const std::uint32_t ways = out_.terms[input.index()].ways;
      enter(input, way);
      // A second output of a node does not name the node's inputs again.
      if (!first) out_.terms[input.index()].ways = ways;
    }
  }

  const Pattern& pattern_;
  Analysis out_;
};

// Calls `see` with the variables that the term itself names, parts apart.
void for_each_name(const Pattern& pattern, const Term& term, const auto& see) {
  if (term.variable) see(term.variable);
  for (VariableId tag : term.tags) see(tag);
  for (const Alternative& a : term.alternatives) {
    for (FactId fact : a.facts) {
      for (const Fact::DimPattern& dim : pattern[fact].dims) {
        if (dim.letter) see(dim.letter);
      }
    }
  }
  if (term.kind != TermKind::kOutput) return;
  const NodePattern& node = pattern[term.node];
  for (VariableId tag : node.tags) see(tag);
  for (const AttributePattern& a : node.attributes) {
    if (a.variable) see(a.variable);
  }
}

}  // namespace

Analysis analyze(const Pattern& pattern) { return Walker(pattern).run(); }

std::vector<Passing> passing(const Pattern& pattern, std::uint32_t hole) {
  std::vector<Passing> out(pattern.terms().size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Term& term = pattern.terms()[i];
    Passing& p = out[i];
    switch (term.kind) {
      case TermKind::kHole:
        p.passes = p.directly = term.output == hole;
        break;
      case TermKind::kOutput:
        for (TermId input : pattern[term.node].inputs) {
          p.passes |= out[input.index()].passes;
        }
        break;
      case TermKind::kEither:
        p.passes = true;
        for (const Alternative& a : term.alternatives) {
          p.passes &= out[a.term.index()].passes;
          p.directly |= out[a.term.index()].directly;
        }
        break;
      case TermKind::kMany:
      case TermKind::kContext:
        p = out[term.base.index()];
        break;
      default:
        break;
    }
  }
  return out;
}

void mark_repeated(std::vector<Variable>& variables, const Analysis& analysis) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::uint32_t depth = analysis.variables[i];
    variables[i].repeated = depth != kUnreached && depth > 0;
  }
}

void find_fields(const Pattern& pattern, const Analysis& analysis,
                 std::vector<Variable>& variables) {
  for (std::size_t i = 0; i < pattern.terms().size(); ++i) {
    const Term& many = pattern.terms()[i];
    if (many.tags.empty() || analysis.terms[i].depth == kUnreached) continue;
    std::vector<bool> inside(variables.size());
    walk(pattern, {many.step}, [&](TermId id) {
      for_each_name(pattern, pattern[id], [&](VariableId name) {
        const std::uint32_t depth = analysis.variables[name.index()];
        if (depth != kUnreached && depth > analysis.terms[i].depth) {
          inside[name.index()] = true;
        }
      });
      return true;
    });
    for (VariableId tag : many.tags) {
      std::vector<VariableId>& fields = variables[tag.index()].fields;
      for (VariableId known : fields) inside[known.index()] = true;
      fields.clear();
      for (std::size_t v = 0; v < inside.size(); ++v) {
        if (inside[v]) fields.push_back(VariableId(v));
      }
    }
  }
}

}  // namespace ruleengine::pattern
