#include "core/engine/tune.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace ruleengine::engine {
namespace {

using rewrite::Site;

bool covers(const Part& part, const Site& site) {
  return part.rule == site.rule &&
         (part.kind.empty() || part.kind == site.kind) &&
         (part.value.empty() || part.value == site.value);
}

int size_class(const Part& part) {
  return part.value.empty() ? (part.kind.empty() ? 0 : 1) : 2;
}

Site site_of(const Part& part) { return {part.rule, part.value, part.kind}; }

}  // namespace

bool leaves_out(const Variant& variant, const Site& site) {
  bool left_out = false;
  int smallest = -1;
  for (const auto& [part, takes_place] : variant.choices) {
    if (!covers(part, site) || size_class(part) < smallest) continue;
    smallest = size_class(part);
    left_out = !takes_place;
  }
  return left_out;
}

decltype(RunOptions::permits) permits_of(const Variant& variant) {
  return [&variant](const rewrite::Rule&,
                    const Site& site) -> std::optional<std::string> {
    if (!leaves_out(variant, site)) return std::nullopt;
    return "it does not pay in the runtime that was measured";
  };
}

Variants::Variants(const RuleSource& source, std::vector<std::string> rules,
                   RunOptions options, Load load)
    : source_(source),
      rules_(std::move(rules)),
      options_(std::move(options)),
      load_(std::move(load)) {
  options_.permits = [this](const rewrite::Rule& rule, const Site& site) {
    return permits_of(*current_)(rule, site);
  };
}

Result<Engine*> Variants::engine(const std::string& target) {
  auto& engine = engines_[target];
  if (!engine) {
    RunOptions options = options_;
    options.target = target;
    auto loaded = Engine::load(source_, rules_, options);
    if (!loaded) return loaded.error();
    engine = *std::move(loaded);
  }
  return engine.get();
}

Result<Variants::Made> Variants::make(const Variant& variant) {
  auto model = load_();
  if (!model) return model.error();
  Made made{*std::move(model), {}};
  if (variant.is_original()) {
    made.report.ops_before = made.report.ops_after = count_ops(*made.model);
    made.report.opset_before = made.report.opset_after = made.model->opset("");
    return made;
  }
  const auto its = engine(variant.target);
  if (!its) return its.error();
  current_ = &variant;
  auto report = (*its)->run(*made.model);
  current_ = nullptr;
  if (!report) return report.error();
  made.report = *std::move(report);
  return made;
}

namespace {

class Search {
 public:
  Search(const MakeVariant& make, const std::vector<std::string>& targets,
         Meter& meter, const std::function<Status()>& proceed, Tuned& out)
      : make_(make),
        targets_(targets),
        meter_(meter),
        proceed_(proceed),
        out_(out) {}

  Status run() {
    for (const auto step :
         {&Search::find_noise, &Search::find_target, &Search::try_rules,
          &Search::try_neutral, &Search::try_kinds, &Search::try_sites,
          &Search::conclude}) {
      if (Status s = (this->*step)(); !s) return s;
    }
    return meter_.finish();
  }

 private:
  // The pointer is valid until the next call.
  Result<const Comparison*> compare(Step step, const Variant& of,
                                    const Variant& against) {
    if (Status s = proceed_(); !s) return s.error();
    auto done = meter_.compare(step, of, against, out_.noise);
    if (!done) return done.error();
    out_.measurements.push_back(*std::move(done));
    return &out_.measurements.back();
  }

  // Two sessions of the same model: what they differ by at most is noise.
  Status find_noise() {
    double noise = 0;
    for (std::size_t i = 0; i < kPairs; ++i) {
      const auto done = compare(Step::kNoise, {}, {});
      if (!done) return done.error();
      if (!(*done)->failed.empty()) {
        return Diagnostic{.kind = ErrorKind::kUsage,
                          .what = "the runtime does not run the model",
                          .found = (*done)->failed};
      }
      noise = std::max(noise, noise_of(**done));
      out_.seconds_before = out_.seconds_after = (*done)->seconds_of();
    }
    out_.noise = noise;
    return {};
  }

  Status find_target() {
    for (const std::string& name : targets_) {
      if (!best_.is_original() && stop_if_over()) return {};
      const Variant variant{name, {}};
      auto made = make_(variant);
      if (!made) return made.error();
      Tuned::Target row{name, {}, {}};
      if (made->report.is_untouched()) {
        row.failed = "nothing was rewritten";
      } else {
        const auto done = compare(Step::kTarget, {}, variant);
        if (!done) return done.error();
        row.speedup = (*done)->speedup();
        row.failed = (*done)->failed;
      }
      const bool is_best = row.failed.empty() &&
                           (best_.is_original() ||
                            row.speedup.median > speedup_ * (1 + out_.noise));
      if (is_best) {
        best_ = variant;
        speedup_ = row.speedup.median;
        sites_ = std::move(made->report.rewrites.sites);
      }
      out_.targets.push_back(std::move(row));
    }
    return {};
  }

  // Measures the best variant with this part the other way, and takes that way
  // if it is faster.
  Status try_other_way(Step step, const Part& part) {
    const bool takes_place = !leaves_out(best_, site_of(part));
    Variant other = best_;
    other.choices.push_back({part, !takes_place});
    const auto done = compare_twice(step, best_, other);
    if (!done) return done.error();
    const Comparison& c = **done;
    Tuned::Effect effect{.part = part, .failed = c.failed};
    effect.sites = static_cast<std::uint64_t>(std::ranges::count_if(
        sites_, [&](const Site& site) { return covers(part, site); }));
    const Verdict verdict = c.verdict(out_.noise);
    effect.kept = takes_place == (verdict != Verdict::kFaster);
    effect.verdict = takes_place ? opposite(verdict) : verdict;
    if (c.failed.empty()) {
      const Spread s = c.speedup();
      effect.with = takes_place ? c.seconds_of() : c.seconds_against();
      effect.without = takes_place ? c.seconds_against() : c.seconds_of();
      effect.speedup =
          takes_place ? Spread{1 / s.high, 1 / s.median, 1 / s.low} : s;
    }
    if (verdict == Verdict::kFaster) best_ = std::move(other);
    out_.effects.push_back(std::move(effect));
    return {};
  }

  // A lucky session seems faster; two in a row seldom are.
  Result<const Comparison*> compare_twice(Step step, const Variant& of,
                                          const Variant& against) {
    auto once = compare(step, of, against);
    if (!once || (*once)->verdict(out_.noise) != Verdict::kFaster) return once;
    return compare(Step::kAgain, of, against);
  }

  static Verdict opposite(Verdict verdict) {
    if (verdict == Verdict::kFaster) return Verdict::kSlower;
    return verdict == Verdict::kSlower ? Verdict::kFaster : verdict;
  }

  bool stop_if_over() {
    if (meter_.goes_on()) return false;
    out_.complete = false;
    return true;
  }

  // Rules with many sites first, since they may matter most.
  Status try_rules() {
    std::vector<std::pair<std::size_t, std::string>> rules;
    for (const Site& site : sites_) {
      const auto known = std::ranges::find(
          rules, site.rule, [](const auto& each) { return each.second; });
      if (known != rules.end()) {
        ++known->first;
      } else {
        rules.emplace_back(1, site.rule);
      }
    }
    std::ranges::stable_sort(rules, std::ranges::greater(),
                             [](const auto& each) { return each.first; });
    for (const auto& [count, rule] : rules) {
      if (stop_if_over()) return {};
      auto status = try_other_way(Step::kRule, {rule, {}, {}});
      if (!status) return status;
    }
    return {};
  }

  // Rules that gain too little to be seen alone may gain together. If they do
  // not, they are left out.
  Status try_neutral() {
    Variant less = best_;
    std::vector<Tuned::Effect*> neutral;
    for (Tuned::Effect& each : out_.effects) {
      if (each.verdict != Verdict::kSame) continue;
      neutral.push_back(&each);
      less.choices.push_back({each.part, false});
    }
    if (neutral.empty() || stop_if_over()) return {};
    const auto done = compare(Step::kNeutral, best_, less);
    if (!done) return done.error();
    const Verdict verdict = (*done)->verdict(out_.noise);
    if (verdict == Verdict::kFailed || verdict == Verdict::kSlower) return {};
    best_ = std::move(less);
    for (Tuned::Effect* each : neutral) each->kept = false;
    return {};
  }

  Status try_kinds() { return try_parts(Step::kKind); }
  Status try_sites() { return try_parts(Step::kSite); }

  // Tries the sites of each kind, or each site, that are not the whole of a
  // larger part.
  Status try_parts(Step step) {
    using Key = std::tuple<std::string, std::string, std::string>;
    std::vector<Part> parts;
    std::set<Key> seen;
    for (const Site& site : sites_) {
      const std::string value = step == Step::kSite ? site.value : "";
      if (!seen.emplace(site.rule, site.kind, value).second) continue;
      parts.push_back({site.rule, site.kind, value});
    }
    const auto whole_of = [&](const Part& part) {
      return Key(part.rule, step == Step::kSite ? part.kind : "", "");
    };
    std::map<Key, std::size_t> siblings;
    for (const Part& part : parts) ++siblings[whole_of(part)];
    for (const Part& part : parts) {
      if (siblings[whole_of(part)] < 2) continue;
      if (stop_if_over()) return {};
      if (auto status = try_other_way(step, part); !status) return status;
    }
    return {};
  }

  // The best variant must be faster again, in each pair of fresh sessions.
  Status conclude() {
    const auto made = make_(best_);
    if (!made) return made.error();
    if (best_.is_original() || made->report.is_untouched()) return {};
    std::vector<Comparison> finals;
    for (std::size_t i = 0; i < kPairs; ++i) {
      const auto done = compare(Step::kFinal, {}, best_);
      if (!done) return done.error();
      out_.failed = (*done)->failed;
      if ((*done)->verdict(out_.noise) != Verdict::kFaster) return {};
      finals.push_back(**done);
    }
    const Comparison& c = middle(finals);
    out_.best = best_;
    out_.compared = c.compared;
    out_.speedup = c.speedup();
    out_.seconds_before = c.seconds_of();
    out_.seconds_after = c.seconds_against();
    return {};
  }

  const MakeVariant& make_;
  const std::vector<std::string>& targets_;
  Meter& meter_;
  const std::function<Status()>& proceed_;
  Tuned& out_;
  Variant best_;
  double speedup_ = 0;
  std::vector<Site> sites_;  // of the best target
};

}  // namespace

Status tune(const MakeVariant& make, const std::vector<std::string>& targets,
            Meter& meter, const std::function<Status()>& proceed, Tuned& out) {
  return Search(make, targets, meter, proceed, out).run();
}

}  // namespace ruleengine::engine
