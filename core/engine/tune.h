// Tuning: which rewrites make a model faster in the user's own runtime. Targets
// are tried first, then the rewrites of the best: what the result loses or
// gains without each rule, without each kind of site of a rule, and without
// each site. The outcome follows from the measurements alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "core/engine/measure.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/engine/tuned.h"

namespace ruleengine::engine {

// Whether the variant is without the rewrites at the site. The choice about the
// smallest part that the site belongs to decides; ties go to the latest one.
bool leaves_out(const Variant& variant, const rewrite::Site& site);

// Leaves out what the variant leaves out; for RunOptions::permits. The variant
// must outlive it.
decltype(RunOptions::permits) permits_of(const Variant& variant);

// Makes variants of one model. Not thread-safe.
class Variants {
 public:
  struct Made {
    std::unique_ptr<ir::Model> model;
    RunReport report;
  };
  using Load = std::function<Result<std::unique_ptr<ir::Model>>()>;

  // `source` must outlive it; `load` loads the model anew.
  Variants(const RuleSource& source, std::vector<std::string> rules,
           RunOptions options, Load load);
  Variants(const Variants&) = delete;
  Variants& operator=(const Variants&) = delete;

  Result<Made> make(const Variant& variant);

 private:
  Result<Engine*> engine(const std::string& target);

  const RuleSource& source_;
  std::vector<std::string> rules_;
  RunOptions options_;
  Load load_;
  std::map<std::string, std::unique_ptr<Engine>> engines_;
  const Variant* current_ = nullptr;
};

using MakeVariant = std::function<Result<Variants::Made>(const Variant&)>;

// `targets`: names to try; ties go to the first. `proceed` is called before
// each comparison; an error ends the work. `out` is filled as
// far as it gets.
Status tune(const MakeVariant& make, const std::vector<std::string>& targets,
            Meter& meter, const std::function<Status()>& proceed, Tuned& out);

}  // namespace ruleengine::engine
