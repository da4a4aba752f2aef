#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/pattern/check.h"
#include "core/pattern/pattern.h"

namespace ruleengine::pattern {
namespace {

// Keys of interning. Every part has a fixed width or comes after its length, so
// two different terms never have the same key.
class Key {
 public:
  Key& add(std::uint64_t number) {
    const auto bytes = std::bit_cast<std::array<char, sizeof number>>(number);
    text_.append(bytes.data(), bytes.size());
    return *this;
  }
  Key& add(std::int64_t number) {
    return add(static_cast<std::uint64_t>(number));
  }
  Key& add(std::uint32_t number) { return add(std::uint64_t{number}); }
  Key& add(bool flag) { return add(std::uint64_t{flag}); }
  Key& add(double number) { return add(std::bit_cast<std::uint64_t>(number)); }
  Key& add(std::string_view text) {
    add(std::uint64_t{text.size()});
    text_.append(text);
    return *this;
  }
  Key& add(const std::string& text) { return add(std::string_view(text)); }
  template <typename Tag>
  Key& add(Id<Tag> id) {
    return add(std::uint64_t{id.index()});
  }
  template <typename T>
  Key& add(const std::vector<T>& list) {
    add(std::uint64_t{list.size()});
    for (const T& item : list) add(item);
    return *this;
  }
  Key& add(const Alternative& alternative) {
    return add(alternative.term)
        .add(alternative.facts)
        .add(alternative.conditions);
  }
  Key& add(const AttributePattern& a) {
    return add(a.name)
        .add(static_cast<std::uint64_t>(a.kind))
        .add(a.i)
        .add(a.f)
        .add(a.s)
        .add(a.ints)
        .add(a.floats)
        .add(a.strings)
        .add(a.variable);
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string key_of(const Term& term) {
  return Key()
      .add(static_cast<std::uint64_t>(term.kind))
      .add(term.variable)
      .add(term.node)
      .add(term.output)
      .add(term.numbers)
      .add(term.scalar)
      .add(term.alternatives)
      .add(term.base)
      .add(term.step)
      .take();
}

std::string key_of(const NodePattern& node) {
  return Key()
      .add(node.domain)
      .add(node.type)
      .add(node.inputs)
      .add(node.open_inputs)
      .add(node.attributes)
      .add(node.open_attributes)
      .add(node.output_count)
      .add(node.open_outputs)
      .add(node.permutations)
      .take();
}

std::string kind_text(VariableKind kind) {
  switch (kind) {
    case VariableKind::kUnused:
      return "nothing";
    case VariableKind::kValue:
      return "a value";
    case VariableKind::kScalar:
      return "an attribute or a dimension";
    case VariableKind::kList:
      return "a tail of inputs";
    case VariableKind::kNode:
      return "a node";
    case VariableKind::kSteps:
      return "the steps of `many`";
  }
  return "?";
}

}  // namespace

std::string key_of(const AttributePattern& attribute) {
  return Key().add(attribute).take();
}

std::string key_of(const Fact& fact) {
  Key key;
  key.add(static_cast<std::uint64_t>(fact.kind)).add(fact.subject);
  key.add(fact.has_dims).add(fact.ellipsis).add(fact.number);
  for (const Fact::DimPattern& dim : fact.dims) {
    key.add(static_cast<std::uint64_t>(dim.kind));
    key.add(dim.letter).add(dim.number);
  }
  for (ir::DataType type : fact.types) {
    key.add(static_cast<std::int64_t>(type));
  }
  return key.take();
}

Diagnostic Builder::fail(int line, Diagnostic problem) {
  error_line_ = line;
  if (problem.where.empty() && line > 0) {
    problem.where = "line " + std::to_string(line);
  }
  return problem;
}

void Builder::remember(int line, Diagnostic problem) {
  if (first_error_) return;
  first_error_ = std::move(problem);
  first_error_line_ = line;
}

TermId Builder::intern(Term term) {
  const auto [at, is_new] =
      term_ids_.try_emplace(key_of(term), TermId(pattern_.terms_.size()));
  if (is_new) pattern_.terms_.push_back(std::move(term));
  return at->second;
}

void Builder::use(VariableId id, VariableKind kind, int line) {
  Variable& variable = pattern_.variables_[id.index()];
  if (variable.kind == VariableKind::kUnused) {
    variable.kind = kind;
  } else if (variable.kind != kind) {
    remember(line,
             {.kind = ErrorKind::kRule,
              .what = "'" + variable.name + "' stands for two different things",
              .expected = kind_text(variable.kind),
              .found = kind_text(kind)});
  }
}

VariableId Builder::variable(std::string_view name, int line) {
  const auto [at, is_new] = variable_ids_.try_emplace(
      std::string(name), VariableId(pattern_.variables_.size()));
  if (is_new) {
    pattern_.variables_.push_back({.name = at->first, .line = line});
  }
  return at->second;
}

TermId Builder::value(VariableId variable, int line) {
  use(variable, VariableKind::kValue, line);
  return intern(
      {.kind = TermKind::kVariable, .variable = variable, .line = line});
}

TermId Builder::any() { return intern({.kind = TermKind::kAny}); }

TermId Builder::absent() { return intern({.kind = TermKind::kAbsent}); }

TermId Builder::numbers(std::vector<double> numbers, bool scalar) {
  return intern({.kind = TermKind::kNumbers,
                 .numbers = std::move(numbers),
                 .scalar = scalar});
}

TermId Builder::either(std::vector<Alternative> alternatives, int line) {
  return intern({.kind = TermKind::kEither,
                 .alternatives = std::move(alternatives),
                 .line = line});
}

TermId Builder::many(TermId step, TermId base, int line) {
  if (open_chains_ > 0) --open_chains_;
  return intern({.kind = TermKind::kMany,
                 .output = open_chains_,  // the number of its hole
                 .base = base,
                 .step = step,
                 .line = line});
}

TermId Builder::hole() {
  return intern({.kind = TermKind::kHole, .output = open_chains_++});
}

TermId Builder::transpose(TermId variable_term, int line) {
  if (pattern_[variable_term].kind != TermKind::kVariable) {
    remember(line,
             {.kind = ErrorKind::kRule,
              .what = "only a variable can be transposed",
              .hint = "`w.T` is the constant whose transpose stands there"});
  }
  return intern(
      {.kind = TermKind::kTranspose, .base = variable_term, .line = line});
}

TermId Builder::context(TermId base, int line) {
  return intern({.kind = TermKind::kContext, .base = base, .line = line});
}

TermId Builder::never(TermId base, int line) {
  return intern({.kind = TermKind::kNever, .base = base, .line = line});
}

TermId Builder::rest(VariableId variable, int line) {
  if (variable) use(variable, VariableKind::kList, line);
  return intern({.kind = TermKind::kRest, .variable = variable, .line = line});
}

Result<NodePatternId> Builder::node(NodePattern node) {
  const int line = node.line;
  if (node.domain == "ai.onnx") node.domain.clear();
  while (!node.inputs.empty() &&
         pattern_[node.inputs.back()].kind == TermKind::kAbsent &&
         !node.open_inputs) {
    node.inputs.pop_back();
  }
  std::ranges::sort(node.attributes, {}, &AttributePattern::name);
  if (Status status = check_node(pattern_, node); !status) {
    return fail(line, status.error());
  }
  for (const AttributePattern& attribute : node.attributes) {
    if (attribute.kind == AttributePattern::Kind::kVariable) {
      use(attribute.variable, VariableKind::kScalar, line);
    }
  }
  std::vector<VariableId> tags = std::exchange(node.tags, {});
  const auto [at, is_new] = node_ids_.try_emplace(
      key_of(node), NodePatternId(pattern_.nodes_.size()));
  if (is_new) pattern_.nodes_.push_back(std::move(node));
  for (VariableId t : tags) {
    if (Status status = tag(at->second, t, line); !status) {
      return status.error();
    }
  }
  return at->second;
}

TermId Builder::output(NodePatternId node, std::uint32_t index) {
  const int line = pattern_[node].line;
  const std::uint32_t count = pattern_[node].output_count;
  if (index >= count) {
    remember(line, {.kind = ErrorKind::kRule,
                    .what = "no such output",
                    .expected = "an output below " + std::to_string(count),
                    .found = "output " + std::to_string(index)});
  }
  return intern(
      {.kind = TermKind::kOutput, .node = node, .output = index, .line = line});
}

Status Builder::tag(NodePatternId node, VariableId tag, int line) {
  return name(VariableKind::kNode, tag, pattern_.nodes_[node.index()].tags,
              line);
}

Status Builder::tag(TermId many, VariableId tag, int line) {
  return name(VariableKind::kSteps, tag, pattern_.terms_[many.index()].tags,
              line);
}

Status Builder::name(VariableKind kind, VariableId tag,
                     std::vector<VariableId>& tags, int line) {
  Variable& variable = pattern_.variables_[tag.index()];
  if (variable.kind != VariableKind::kUnused && variable.kind != kind) {
    return fail(
        line, {.kind = ErrorKind::kRule,
               .what = "'" + variable.name + "' cannot name " + kind_text(kind),
               .found = "it stands for " + kind_text(variable.kind)});
  }
  variable.kind = kind;
  if (std::ranges::find(tags, tag) == tags.end()) tags.push_back(tag);
  return {};
}

FactId Builder::fact(Fact fact) {
  // A fact about a context is a fact about the term below it.
  while (pattern_[fact.subject].kind == TermKind::kContext) {
    fact.subject = pattern_[fact.subject].base;
  }
  for (const Fact::DimPattern& dim : fact.dims) {
    if (dim.kind == Fact::DimPattern::Kind::kLetter) {
      use(dim.letter, VariableKind::kScalar, fact.line);
    }
  }
  // The same fact stated twice is one fact, so that alternatives with it are
  // interned too.
  const auto [at, is_new] =
      fact_ids_.try_emplace(key_of(fact), FactId(pattern_.facts_.size()));
  if (is_new) pattern_.facts_.push_back(std::move(fact));
  return at->second;
}

void Builder::result(TermId term) { pattern_.results_.push_back(term); }

void Builder::global_fact(FactId fact) {
  pattern_.global_facts_.push_back(fact);
}

void Builder::condition(TermId term) { pattern_.conditions_.push_back(term); }

Status Builder::sound() {
  if (first_error_) return fail(first_error_line_, *first_error_);
  return {};
}

Result<Pattern> Builder::finish() {
  if (Status status = sound(); !status) return status.error();
  if (Problem problem = check(pattern_)) {
    return fail(problem.line, std::move(problem.diagnostic));
  }
  const Analysis analysis = analyze(pattern_);
  mark_repeated(pattern_.variables_, analysis);
  find_fields(pattern_, analysis, pattern_.variables_);
  return std::move(pattern_);
}

}  // namespace ruleengine::pattern
