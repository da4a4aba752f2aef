#include <algorithm>
#include <map>
#include <optional>

#include "core/pattern/check.h"

// Facts that cannot hold: they contradict each other or have no subject.
namespace ruleengine::pattern {
namespace {

// All that the facts state about one subject.
struct Known {
  std::optional<std::int64_t> rank;
  std::int64_t least_rank = 0;
  std::optional<std::vector<ir::DataType>> types;
  std::map<std::int64_t, std::int64_t> sizes;  // by axis from the front
};

bool fixes_rank(const Fact& fact) {
  if (fact.ellipsis) return false;
  return fact.kind == Fact::Kind::kShape || fact.kind == Fact::Kind::kRank ||
         (fact.kind == Fact::Kind::kConst && fact.has_dims);
}

bool add_rank(Known& known, const Fact& fact) {
  const auto dims = static_cast<std::int64_t>(fact.dims.size());
  if (fixes_rank(fact)) {
    const std::int64_t rank =
        fact.kind == Fact::Kind::kRank ? fact.number : dims;
    if (rank < 0 || (known.rank && *known.rank != rank)) return false;
    known.rank = rank;
  } else if (fact.kind == Fact::Kind::kShape ||
             fact.kind == Fact::Kind::kConst) {
    known.least_rank = std::max(known.least_rank, dims);
  } else if (fact.kind == Fact::Kind::kDim) {
    const std::int64_t need = fact.number >= 0 ? fact.number + 1 : -fact.number;
    known.least_rank = std::max(known.least_rank, need);
  }
  return !known.rank || *known.rank >= known.least_rank;
}

bool add_types(Known& known, const Fact& fact) {
  if (fact.kind != Fact::Kind::kType) return true;
  if (!known.types) {
    known.types = fact.types;
  } else {
    std::erase_if(*known.types, [&](ir::DataType type) {
      return std::ranges::find(fact.types, type) == fact.types.end();
    });
  }
  return !known.types->empty();
}

bool add_size(Known& known, std::int64_t axis, const Fact::DimPattern& dim) {
  if (dim.kind != Fact::DimPattern::Kind::kNumber) return true;
  const auto [at, is_new] = known.sizes.try_emplace(axis, dim.number);
  return is_new || at->second == dim.number;
}

bool add_sizes(Known& known, const Fact& fact) {
  if (fact.kind == Fact::Kind::kDim) {
    return fact.number < 0 || fact.dims.empty() ||
           add_size(known, fact.number, fact.dims[0]);
  }
  if (fact.kind == Fact::Kind::kFits || fact.ellipsis) return true;
  for (std::size_t i = 0; i < fact.dims.size(); ++i) {
    if (!add_size(known, static_cast<std::int64_t>(i), fact.dims[i])) {
      return false;
    }
  }
  return true;
}

bool add(Known& known, const Fact& fact) {
  return add_rank(known, fact) && add_types(known, fact) &&
         add_sizes(known, fact);
}

Problem contradiction(const Fact& fact) {
  return problem_at(
      fact.line, {.what = "a fact that contradicts another of the same value",
                  .hint = "the pattern can never match"});
}

Problem check_subject(const Pattern& pattern, const Analysis& analysis,
                      const Fact& fact) {
  const TermKind kind = pattern[fact.subject].kind;
  const bool bindable = kind == TermKind::kVariable ||
                        kind == TermKind::kOutput ||
                        kind == TermKind::kEither || kind == TermKind::kMany ||
                        kind == TermKind::kHole || kind == TermKind::kTranspose;
  if (!bindable) {
    return problem_at(
        fact.line, {.what = "a fact about something without a name",
                    .hint = "any \"x\" makes a variable without a parameter"});
  }
  if (analysis.terms[fact.subject.index()].depth != kUnreached) return {};
  return problem_at(fact.line,
                    {.what = "a fact about what is not part of the pattern"});
}

using KnownBySubject = std::map<TermId, Known>;

Problem add_all(const Pattern& pattern, const Analysis& analysis,
                const std::vector<FactId>& facts, KnownBySubject& known) {
  for (FactId id : facts) {
    const Fact& fact = pattern[id];
    if (Problem problem = check_subject(pattern, analysis, fact)) {
      return problem;
    }
    if (!add(known[fact.subject], fact)) return contradiction(fact);
  }
  return {};
}

}  // namespace

Problem check_facts(const Pattern& pattern, const Analysis& analysis) {
  KnownBySubject global;
  Problem problem = add_all(pattern, analysis, pattern.global_facts(), global);
  if (problem) return problem;
  for (std::size_t t = 0; t < pattern.terms().size(); ++t) {
    for (const Alternative& alternative : pattern.terms()[t].alternatives) {
      if (alternative.facts.empty()) continue;
      KnownBySubject here;
      for (FactId id : alternative.facts) {
        const TermId subject = pattern[id].subject;
        const std::uint32_t depth = analysis.terms[subject.index()].depth;
        if (depth != kUnreached && depth > analysis.terms[t].depth) {
          return problem_at(
              pattern[id].line,
              {.what = "a fact about what the steps of `many` bind",
               .hint = "state it inside the step"});
        }
        const auto at = global.find(subject);
        if (at != global.end()) here.insert(*at);
      }
      problem = add_all(pattern, analysis, alternative.facts, here);
      if (problem) return problem;
    }
  }
  return {};
}

}  // namespace ruleengine::pattern
