#include "core/match/overlap.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/match/compile/demands.h"
#include "core/match/compile/prepared.h"

namespace ruleengine::match {
namespace {

// Compares two patterns term by term. It records which term each variable of
// the general one corresponds to: a variable used twice covers only a term that
// also occurs twice.
class Cover {
 public:
  Cover(const Pattern& general, const Pattern& special)
      : general_(general), special_(special) {}

  bool run() {
    if (general_.results().size() != 1 || !general_.conditions().empty()) {
      return false;
    }
    return term(general_.results()[0], special_.results()[0]) &&
           std::ranges::all_of(general_.global_facts(),
                               [&](FactId f) { return fact(general_[f]); }) &&
           closed();
  }

 private:
  bool term(TermId general, TermId special) {
    const auto known = terms_.find(general);
    if (known != terms_.end()) return known->second == special;
    const Term& g = general_[general];
    const Term& s = special_[special];
    const bool value =
        s.kind == TermKind::kVariable || s.kind == TermKind::kAny ||
        s.kind == TermKind::kOutput || s.kind == TermKind::kNumbers ||
        s.kind == TermKind::kHole || s.kind == TermKind::kTranspose;
    bool covers = false;
    switch (g.kind) {
      case TermKind::kAny:
        return value;
      case TermKind::kAbsent:
        return s.kind == TermKind::kAbsent;
      case TermKind::kNumbers:
        return s.kind == TermKind::kNumbers && g.numbers == s.numbers &&
               g.scalar == s.scalar;
      case TermKind::kVariable:
        // A term that may match different values each time does not cover a
        // second use.
        covers = value && (s.kind == TermKind::kVariable ||
                           s.kind == TermKind::kOutput || once(general));
        break;
      case TermKind::kOutput:
        covers = s.kind == TermKind::kOutput && g.output == s.output &&
                 node(g.node, s.node);
        break;
      default:
        return false;
    }
    if (covers) terms_[general] = special;
    return covers;
  }

  bool once(TermId id) {
    if (ways_.empty()) {
      for (const pattern::Reach& r : pattern::analyze(general_).terms) {
        ways_.push_back(r.ways);
      }
    }
    return ways_[id.index()] == 1;
  }

  bool node(NodePatternId general, NodePatternId special) {
    const NodePattern& g = general_[general];
    const NodePattern& s = special_[special];
    if (!ops(g, s) || g.permutations != s.permutations || !outputs(g, s) ||
        !attributes(g, s)) {
      return false;
    }
    nodes_[general] = special;
    return inputs(g, s);
  }

  static bool ops(const NodePattern& g, const NodePattern& s) {
    return std::ranges::all_of(s.ops(), [&](const ops::OpName& op) {
      return g.fits(op.domain, op.type);
    });
  }

  // Outputs that the pattern mentions are closed; others are unread unless
  // open.
  static bool outputs(const NodePattern& g, const NodePattern& s) {
    if (s.open_outputs) {
      return g.open_outputs && g.output_count <= s.output_count;
    }
    return g.open_outputs || s.output_count <= g.output_count;
  }

  bool inputs(const NodePattern& g, const NodePattern& s) {
    if (has_rest(general_, g) || has_rest(special_, s)) return false;
    if (!g.open_inputs &&
        (s.open_inputs || s.inputs.size() != g.inputs.size())) {
      return false;
    }
    if (s.inputs.size() < g.inputs.size()) return false;
    for (std::size_t i = 0; i < g.inputs.size(); ++i) {
      if (!term(g.inputs[i], s.inputs[i])) return false;
    }
    return true;
  }

  bool attributes(const NodePattern& g, const NodePattern& s) {
    const auto find = [](const NodePattern& p, const std::string& name) {
      const auto at = std::ranges::lower_bound(p.attributes, name, {},
                                               &AttributePattern::name);
      const bool there = at != p.attributes.end() && at->name == name;
      return there ? &*at : nullptr;
    };
    for (const AttributePattern& wanted : g.attributes) {
      if (!attribute(wanted, find(s, wanted.name))) return false;
    }
    if (g.open_attributes) return true;
    if (s.open_attributes) return false;
    return std::ranges::all_of(s.attributes, [&](const auto& a) {
      return find(g, a.name) != nullptr;
    });
  }

  bool attribute(const AttributePattern& g, const AttributePattern* s) {
    using Kind = AttributePattern::Kind;
    if (g.kind == Kind::kAny) return true;
    if (g.kind == Kind::kVariable) {
      // Allowed if this is the only use; else a variable must correspond to a
      // variable. (Other kinds have none.)
      return letter(g.variable, s != nullptr ? s->variable : VariableId());
    }
    return s != nullptr && g.kind == s->kind && g.i == s->i && g.f == s->f &&
           g.s == s->s && g.ints == s->ints && g.floats == s->floats &&
           g.strings == s->strings;
  }

  // A letter of the general pattern corresponds to one of the special pattern.
  // Without such a letter it must have no other use.
  bool letter(VariableId general, VariableId special) {
    const auto [at, is_new] = letters_.try_emplace(general, special);
    return is_new || (special && at->second == special);
  }

  bool fact(const Fact& wanted) {
    const auto subject = terms_.find(wanted.subject);
    if (subject == terms_.end()) return false;
    return std::ranges::any_of(special_.global_facts(), [&](FactId id) {
      const Fact& f = special_[id];
      return f.subject == subject->second && same(wanted, f);
    });
  }

  bool same(const Fact& g, const Fact& s) {
    if (g.kind != s.kind || g.has_dims != s.has_dims ||
        g.ellipsis != s.ellipsis || g.number != s.number ||
        g.types != s.types || g.dims.size() != s.dims.size()) {
      return false;
    }
    for (std::size_t i = 0; i < g.dims.size(); ++i) {
      using Kind = Fact::DimPattern::Kind;
      const Fact::DimPattern& a = g.dims[i];
      const Fact::DimPattern& b = s.dims[i];
      if (a.kind == Kind::kAny) continue;
      if (a.kind != b.kind || a.number != b.number) return false;
      if (a.kind == Kind::kLetter && !letter(a.letter, b.letter)) return false;
    }
    return true;
  }

  // The special pattern may consume more nodes than the general one. None of
  // them may read an inner value of the general one: each must be upstream of
  // all inner values.
  bool closed() {
    std::set<NodePatternId> image;
    for (const auto& [g, s] : nodes_) image.insert(s);
    for (const auto& [g, s] : terms_) {
      const bool inner = special_[s].kind == TermKind::kOutput &&
                         s != special_.results()[0] &&
                         general_[g].kind == TermKind::kOutput;
      if (!inner) continue;
      const bool result =
          std::ranges::find(special_.results(), s) != special_.results().end();
      if (result || reads_from_beside(s, image)) return false;
    }
    return true;
  }

  // Whether some node outside the image may not be upstream of `value`.
  bool reads_from_beside(TermId value, const std::set<NodePatternId>& image) {
    const std::vector<bool> upstream = certain_parts(value);
    std::vector<TermId> all(special_.results());
    for (TermId c : special_.conditions()) all.push_back(c);
    bool beside = false;
    pattern::walk(special_, std::move(all), [&](TermId id) {
      if (id == value || upstream[id.index()]) return false;
      const Term& t = special_[id];
      beside |= t.kind == TermKind::kOutput && !image.contains(t.node);
      return !beside;
    });
    return beside;
  }

  // The terms that are below `value` in all alternatives.
  std::vector<bool> certain_parts(TermId value) {
    std::vector<bool> out(special_.terms().size());
    pattern::walk(special_, {value}, [&](TermId id) {
      const Term& t = special_[id];
      if (t.kind == TermKind::kEither || t.kind == TermKind::kMany ||
          t.kind == TermKind::kNever) {
        return false;
      }
      out[id.index()] = true;
      // A permutation may leave inputs out.
      return t.kind != TermKind::kOutput ||
             special_[t.node].permutations.empty();
    });
    return out;
  }

  const Pattern& general_;
  const Pattern& special_;
  std::map<TermId, TermId> terms_;
  std::map<NodePatternId, NodePatternId> nodes_;
  std::map<VariableId, VariableId> letters_;
  std::vector<std::uint32_t> ways_;
};

// The earlier patterns that may cover a later one; each is indexed by its
// demand that the fewest patterns have. A class of ops may demand nothing.
class Earlier {
 public:
  explicit Earlier(std::span<const Tried> patterns) {
    Demands demands;
    for (const Tried& each : patterns) {
      of_.push_back(demands.of(*each.pattern));
      for (std::uint32_t d : of_.back()) {
        if (d >= count_.size()) count_.resize(d + 1);
        ++count_[d];
      }
    }
    filed_.resize(count_.size());
  }

  void add(std::uint32_t rule) {
    if (of_[rule].empty()) return everywhere_.push_back(rule);
    const auto rarest = std::ranges::min_element(
        of_[rule], {}, [&](std::uint32_t d) { return count_[d]; });
    filed_[*rarest].push_back(rule);
  }

  // Ascending.
  std::vector<std::uint32_t> within(std::uint32_t rule) const {
    std::vector<std::uint32_t> out = everywhere_;
    for (std::uint32_t d : of_[rule]) {
      for (std::uint32_t by : filed_[d]) {
        if (std::ranges::includes(of_[rule], of_[by])) out.push_back(by);
      }
    }
    std::ranges::sort(out);
    return out;
  }

 private:
  std::vector<std::vector<std::uint32_t>> of_;  // by pattern
  std::vector<std::uint32_t> count_;            // by demand
  std::vector<std::vector<std::uint32_t>> filed_;
  std::vector<std::uint32_t> everywhere_;
};

}  // namespace

bool covers(const Pattern& general, const Pattern& special) {
  return Cover(general, special).run();
}

std::vector<Shadow> shadowed(std::span<const Tried> patterns) {
  // The limit on all comparisons, so that the time is not quadratic for very
  // many rules.
  constexpr std::size_t kMost = 200'000;
  Earlier earlier(patterns);
  std::vector<Shadow> out;
  std::size_t compared = 0;
  for (std::uint32_t rule = 0; rule < patterns.size(); ++rule) {
    const Pattern& special = *patterns[rule].pattern;
    if (special[special.results()[0]].kind != TermKind::kOutput) continue;
    for (std::uint32_t by : earlier.within(rule)) {
      if (++compared > kMost) return out;
      if (!covers(*patterns[by].pattern, special)) continue;
      out.push_back({rule, by});
      break;
    }
    if (patterns[rule].always) earlier.add(rule);
  }
  return out;
}

}  // namespace ruleengine::match
