// For the tests of patterns and matchers: short patterns, models from text, and
// facts that only know declared types.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "core/match/machine.h"
#include "core/match/program.h"
#include "core/pattern/pattern.h"

namespace ruleengine::match::testing {

using pattern::TermId;

class DeclaredFacts : public ir::Facts {
 public:
  explicit DeclaredFacts(const ir::Graph& graph) : graph_(graph) {}

  const ir::Type* type(ir::ValueId value) override {
    return graph_.value(value).declared;
  }
  bool is_constant(ir::ValueId value) override {
    return constant(value) != nullptr;
  }
  const ir::Literal* constant(ir::ValueId value) override {
    return graph_.direct_constant(value);
  }
  std::optional<std::span<const ir::Dim>> dims_of(ir::ValueId) override {
    return std::nullopt;
  }
  void invalidate(ir::NodeId) override {}
  std::vector<std::string> take_warnings() override { return {}; }

 private:
  const ir::Graph& graph_;
};

// A Builder with short names.
class Draft : public pattern::Builder {
 public:
  using Attributes = std::vector<pattern::AttributePattern>;

  TermId v(std::string_view name) { return value(variable(name, 1), 1); }
  TermId num(double number) { return numbers({number}, true); }

  pattern::NodePatternId node(std::string type, std::vector<TermId> inputs,
                              Attributes attributes = {},
                              std::string_view tag = "") {
    pattern::NodePattern p;
    p.type = std::move(type);
    p.inputs = std::move(inputs);
    p.attributes = std::move(attributes);
    p.line = ++line_;
    return made(std::move(p), tag);
  }
  pattern::NodePatternId made(pattern::NodePattern p,
                              std::string_view tag = "") {
    if (!tag.empty()) p.tags = {variable(tag, p.line)};
    auto id = Builder::node(std::move(p));
    if (!id.ok()) {
      if (!error) error = id.error();
      return pattern::NodePatternId(0u);
    }
    return *id;
  }
  TermId op(std::string type, std::vector<TermId> inputs,
            Attributes attributes = {}, std::string_view tag = "") {
    const auto n =
        node(std::move(type), std::move(inputs), std::move(attributes), tag);
    return error ? any() : output(n, 0);
  }
  TermId either_of(std::vector<TermId> terms) {
    std::vector<pattern::Alternative> all;
    for (TermId t : terms) all.push_back({.term = t});
    return either(std::move(all), ++line_);
  }
  TermId maybe(TermId p, TermId x) { return either_of({p, x}); }
  TermId chain(TermId step, TermId base, std::string_view name) {
    const TermId made = many(step, base, ++line_);
    if (name.empty()) return made;
    Status status = Builder::tag(made, variable(name, line_), line_);
    if (!status && !error) error = status.error();
    return made;
  }
  pattern::FactId shape(
      TermId subject, std::string_view letters,
      pattern::Fact::Kind kind = pattern::Fact::Kind::kShape) {
    pattern::Fact fact;
    fact.kind = kind;
    fact.subject = subject;
    fact.has_dims = true;
    fact.line = ++line_;
    while (!letters.empty()) {
      const std::size_t end = std::min(letters.find(' '), letters.size());
      const std::string_view word = letters.substr(0, end);
      letters.remove_prefix(std::min(end + 1, letters.size()));
      using Kind = pattern::Fact::DimPattern::Kind;
      if (word == "...") {
        fact.ellipsis = true;
      } else if (word == "_") {
        fact.dims.push_back({Kind::kAny, {}, 0});
      } else if (word[0] >= '0' && word[0] <= '9') {
        fact.dims.push_back({Kind::kNumber, {}, std::stoll(std::string(word))});
      } else {
        fact.dims.push_back({Kind::kLetter, variable(word, line_), 0});
      }
    }
    return Builder::fact(std::move(fact));
  }

  Result<pattern::Pattern> done(std::vector<TermId> results) {
    if (error) return *error;
    for (TermId r : results) result(r);
    return finish();
  }

  std::optional<Diagnostic> error;

 private:
  int line_ = 0;
};

}  // namespace ruleengine::match::testing

namespace ruleengine::match {

using pattern::AttributePattern;
using pattern::Fact;
using pattern::NodePattern;
using pattern::Pattern;
using pattern::TermId;
using testing::DeclaredFacts;
using testing::Draft;

}  // namespace ruleengine::match
