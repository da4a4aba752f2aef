// A Pattern as text, one line per term. Deterministic.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "core/pattern/check.h"

namespace ruleengine::pattern {

class PatternText {
 public:
  explicit PatternText(const Pattern& pattern) : pattern_(pattern) {}

  std::string run() {
    for (std::size_t i = 0; i < pattern_.terms().size(); ++i) {
      line("t{} = ", i);
      term(pattern_.terms()[i]);
      out_ += '\n';
    }
    for (FactId fact : pattern_.global_facts()) {
      this->fact(pattern_[fact]);
      out_ += '\n';
    }
    for (TermId condition : pattern_.conditions()) {
      line("condition t{}\n", condition.index());
    }
    out_ += "return";
    terms(pattern_.results(), " ");
    out_ += '\n';
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format,
                   std::forward<Args>(args)...);
  }

  const std::string& name(VariableId id) { return pattern_[id].name; }

  void terms(const std::vector<TermId>& list, std::string_view before) {
    for (TermId id : list) {
      line("{}t{}", before, id.index());
      before = ", ";
    }
  }

  void term(const Term& t) {
    switch (t.kind) {
      case TermKind::kVariable:
        out_ += name(t.variable);
        break;
      case TermKind::kAny:
        out_ += "any";
        break;
      case TermKind::kAbsent:
        out_ += "absent";
        break;
      case TermKind::kOutput:
        output(t);
        break;
      case TermKind::kNumbers:
        numbers(t);
        break;
      case TermKind::kEither:
        either(t);
        break;
      case TermKind::kMany:
        line("many t{} from t{}", t.step.index(), t.base.index());
        for (VariableId tag : t.tags) line(" as {}", name(tag));
        break;
      case TermKind::kHole:
        line("hole {}", t.output);
        break;
      case TermKind::kTranspose:
        line("transpose t{}", t.base.index());
        break;
      case TermKind::kContext:
        line("context t{}", t.base.index());
        break;
      case TermKind::kNever:
        line("never t{}", t.base.index());
        break;
      case TermKind::kRest:
        out_ += "rest";
        if (t.variable) line(" {}", name(t.variable));
        break;
    }
  }

  void numbers(const Term& t) {
    if (t.scalar) {
      line("{}", t.numbers.empty() ? 0.0 : t.numbers[0]);
    } else {
      line("[{}]", fmt::join(t.numbers, ", "));
    }
  }

  void either(const Term& t) {
    out_ += "either";
    std::string_view before = " ";
    for (const Alternative& a : t.alternatives) {
      line("{}t{}", before, a.term.index());
      for (FactId id : a.facts) {
        out_ += " where ";
        fact(pattern_[id]);
      }
      terms(a.conditions, " with ");
      before = " | ";
    }
  }

  void output(const Term& t) {
    const NodePattern& node = pattern_[t.node];
    if (node.output_count > 1) line("output {} of ", t.output);
    line("n{} {}{}{}(", t.node.index(), node.domain,
         node.domain.empty() ? "" : "::", node.type);
    terms(node.inputs, "");
    if (node.open_inputs) out_ += ", ...";
    out_ += ')';
    for (const AttributePattern& a : node.attributes) attribute(a);
    if (node.open_attributes) out_ += " attrs=any";
    if (node.open_outputs) out_ += " outputs=any";
    for (const auto& permutation : node.permutations) {
      line(" perm [{}]", fmt::join(permutation, ", "));
    }
    for (VariableId tag : node.tags) line(" as {}", name(tag));
  }

  void attribute(const AttributePattern& a) {
    using Kind = AttributePattern::Kind;
    line(" {}={}", a.name, literal_text(a));
    if (a.kind == Kind::kVariable) out_ += name(a.variable);
    if (a.kind == Kind::kAny) out_ += "any";
  }

  void fact(const Fact& f) {
    line("t{}", f.subject.index());
    switch (f.kind) {
      case Fact::Kind::kShape:
        out_ += " shape";
        break;
      case Fact::Kind::kFits:
        out_ += " fits";
        break;
      case Fact::Kind::kRank:
        line(" rank {}", f.number);
        break;
      case Fact::Kind::kDim:
        line(" dim {}", f.number);
        break;
      case Fact::Kind::kType:
        out_ += " type";
        break;
      case Fact::Kind::kConst:
        out_ += " const";
        break;
    }
    for (ir::DataType type : f.types) line(" {}", ir::data_type_name(type));
    if (f.ellipsis) out_ += " ...";
    for (const Fact::DimPattern& dim : f.dims) {
      switch (dim.kind) {
        case Fact::DimPattern::Kind::kLetter:
          line(" {}", name(dim.letter));
          break;
        case Fact::DimPattern::Kind::kNumber:
          line(" {}", dim.number);
          break;
        case Fact::DimPattern::Kind::kAny:
          out_ += " _";
          break;
      }
    }
  }

  const Pattern& pattern_;
  std::string out_;
};

inline std::string text_of(const Pattern& pattern) {
  return PatternText(pattern).run();
}

}  // namespace ruleengine::pattern
