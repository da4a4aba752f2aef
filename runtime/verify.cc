#include "runtime/verify.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "runtime/drawing/input_sets.h"
#include "runtime/widening.h"

namespace ruleengine::runtime {
namespace {

using Named = Executor::Named;

// Runs with noise, at most. One suffices for most elements; what is rounded to
// whole numbers moves rarely.
constexpr std::uint64_t kMostSamples = 16;
// In doubles results that are the same in theory differ by a few 2^-53.
constexpr double kWideNoise = 0x1p-40;
constexpr double kWideFloor = 0x1p-47;
constexpr double kLeast = std::numeric_limits<float>::denorm_min();
constexpr double kWideFactor = 2;
constexpr double kOwnFactor = 8;

// Compares after 0, 1, 2, 4, ... samples, until the results agree.
template <typename AddSample, typename Compare>
Result<Comparison> compare_with_samples(const AddSample& add,
                                        const Compare& compare) {
  Comparison found = compare();
  for (std::uint64_t seed = 1; found.mismatch && seed <= kMostSamples; ++seed) {
    if (auto status = add(seed); !status) return status.error();
    const bool is_power = (seed & (seed - 1)) == 0;
    if (is_power) found = compare();
  }
  return found;
}

bool is_late(const Diagnostic& error) {
  return error.kind == ErrorKind::kLimit && error.remedy == Remedy::kTime;
}

// A run that fails where noise moved an index or a size shows nothing.
Status add_sample(Executor& executor, const Named& inputs, const Noise& noise,
                  Spread& spread) {
  const auto moved = executor.run(inputs, &noise);
  if (moved) {
    spread.add(*moved);
    return {};
  }
  return is_late(moved.error()) ? Status(moved.error()) : Status();
}

Named in_doubles(const Named& values) {
  Threads one(1);
  KernelRun run{.memory = HostMemory::create(), .threads = &one};
  Named out;
  for (const auto& [name, value] : values) {
    out.emplace_back(name, as_doubles(value, run));
  }
  return out;
}

// Whether an error ends a verification.
bool ends_all(const Diagnostic& error) {
  return error.kind == ErrorKind::kLimit || error.kind == ErrorKind::kCancelled;
}

std::string one_line(const Diagnostic& error) {
  std::string out = error.what;
  if (!error.found.empty()) out += ": " + error.found;
  if (!error.where.empty()) out += " (" + error.where + ")";
  return out;
}

// Two models and whether they agree on inputs.
class ModelPair {
 public:
  struct Agreement {
    Comparison found;  // its differences are those in the models' own types
    // By output: it was left out, since both models draw random numbers for it
    // and not the same ones. Empty: none was.
    std::vector<bool> random;
    // Why the models did not run in doubles, if they did not: then bounds are
    // fixed ones.
    std::string only_own_types;
  };

  // With a `tolerance` the models are compared in their own types alone, by it.
  ModelPair(const ir::Model& before, const ir::Model& after,
            ExecutorOptions options, std::optional<Tolerance> tolerance)
      : before_model_(before),
        options_(std::move(options)),
        tolerance_(tolerance) {
    auto own = Executor::create(after, options_);
    if (!own) {
      const auto model = Executor::create(before, options_);
      why_not_ = one_line(model ? own.error() : model.error());
      return;
    }
    after_ = *std::move(own);
    if (tolerance_) return;
    wide_before_ = make_wide(before);
    wide_after_ = make_wide(after);
    if (wide_before_ == nullptr || wide_after_ == nullptr) return;
    shared_.emplace(wide_before_->model(), wide_after_->model());
  }

  // Why a model cannot be run at all; "" where both can.
  const std::string& why_not() const { return why_not_; }

  // `outputs`: of the first model, in its own types. Errors: only limits.
  Result<Agreement> compare_on(const Named& inputs, const Named& outputs) try {
    Agreement out;
    auto after = after_->run(inputs);
    if (!after) {
      if (ends_all(after.error())) return after.error();
      out.found.mismatch = {
          "", "the result cannot be run: " + one_line(after.error())};
      return out;
    }
    const Results own{outputs, *std::move(after)};
    if (auto differ = compare_forms(own.before, own.after)) {
      out.found.mismatch = *std::move(differ);
      return out;
    }
    Results wide;
    const auto is_wide = run_wide(inputs, wide, out.only_own_types);
    if (!is_wide) return is_wide.error();
    auto random = random_outputs(inputs, outputs);
    if (!random) return random.error();
    out.random = *std::move(random);
    if (tolerance_) {
      const Bound bound = [&](std::size_t, std::size_t, double v) {
        return relative_bound(v, tolerance_->rel, tolerance_->abs);
      };
      out.found = compare(own.before, own.after, bound, out.random);
      return out;
    }
    if (!*is_wide) {
      out.found = compare_by_type(own.before, own.after, out.random);
      return out;
    }
    auto found = compare_own(inputs, own, wide, out.random);
    if (!found) return found.error();
    out.found = *std::move(found);
    if (out.found.mismatch) return out;
    auto exact = compare_wide(inputs, wide, out.random);
    if (!exact) return exact.error();
    out.found.mismatch = std::move(exact->mismatch);
    if (auto& differ = out.found.mismatch) {
      differ->text += ", in double arithmetic";
    }
    return out;
  } catch (const Failure& failure) {
    return failure.error;
  }

 private:
  // Results of both.
  struct Results {
    Named before, after;
  };

  std::unique_ptr<Executor> make_wide(const ir::Model& model) {
    ExecutorOptions how = options_;
    how.wide = true;
    // An element may be off by what the steps of the definition make it.
    how.spells_gelu = true;
    auto made = Executor::create(model, std::move(how));
    if (made) return *std::move(made);
    only_own_types_ = one_line(made.error());
    return nullptr;
  }

  // False where the models do not run in doubles; `why` says so.
  Result<bool> run_wide(const Named& inputs, Results& out, std::string& why) {
    why = only_own_types_;
    if (wide_before_ == nullptr || wide_after_ == nullptr) return false;
    for (const auto& [executor, results] :
         {std::pair(wide_before_.get(), &out.before),
          std::pair(wide_after_.get(), &out.after)}) {
      auto ran = executor->run(inputs);
      if (!ran) {
        // Doubles may need more memory than there is.
        if (is_late(ran.error())) return ran.error();
        why = one_line(ran.error());
        return false;
      }
      *results = *std::move(ran);
    }
    // Where doubles choose other sizes than the models' own types do.
    const auto differ = compare_forms(out.before, out.after);
    if (differ) why = differ->text;
    return !differ;
  }

  // Outputs that depend on numbers that the models do not both draw.
  Result<std::vector<bool>> random_outputs(const Named& inputs,
                                           const Named& outputs) {
    const Executor* first = wide_before_.get();
    if (first != nullptr && first->drawn() == after_->drawn()) {
      return std::vector<bool>();
    }
    if (before_ == nullptr) {
      auto made = Executor::create(before_model_, options_);
      if (!made) return std::vector<bool>();
      before_ = *std::move(made);
    }
    if (first == nullptr) {
      first = before_.get();
      const auto ran = before_->run(inputs);
      if (!ran && ends_all(ran.error())) return ran.error();
      if (first->drawn() == after_->drawn()) return std::vector<bool>();
    }
    DrawnCounts alike = first->drawn();
    std::erase_if(alike, [&](const auto& each) {
      const auto it = after_->drawn().find(each.first);
      return it == after_->drawn().end() || it->second != each.second;
    });
    const auto redrawn = before_->run(inputs, nullptr, &alike);
    if (redrawn) return differing(outputs, *redrawn);
    if (ends_all(redrawn.error())) return redrawn.error();
    return std::vector<bool>(outputs.size(), true);
  }

  Result<Comparison> compare_own(const Named& inputs, const Results& own,
                                 const Results& wide,
                                 const std::vector<bool>& random) {
    const int precision = shared_->precision();
    Noise rounding{.results = rounding_of(precision),
                   .exact_bits = precision,
                   .leaves = rounding_of(precision)};
    Spread before(wide.before), after(wide.after), error(wide.before);
    // The model's own error; where it overflows, anything is right.
    error.add(in_doubles(own.before));
    const Bound last_place = last_place_bound(own.before);
    const Bound bound = [&](std::size_t tensor, std::size_t i, double v) {
      return kOwnFactor * (before.at(tensor, i) + after.at(tensor, i)) +
             2 * error.at(tensor, i) + last_place(tensor, i, v);
    };
    return compare_with_samples(
        [&](std::uint64_t seed) -> Status {
          rounding.seed = seed;
          auto status = add_sample(*wide_before_, inputs, rounding, before);
          if (!status) return status;
          return add_sample(*wide_after_, inputs,
                            {.seed = seed, .shared = &*shared_}, after);
        },
        [&] { return compare(own.before, own.after, bound, random); });
  }

  Result<Comparison> compare_wide(const Named& inputs, const Results& wide,
                                  const std::vector<bool>& random) {
    Spread before(wide.before), after(wide.after);
    Noise noise{
        .results = kWideNoise, .leaves = kWideNoise, .shared = &*shared_};
    const Bound bound = [&](std::size_t tensor, std::size_t i, double v) {
      return relative_bound(v, kWideFloor, kLeast) +
             kWideFactor * (before.at(tensor, i) + after.at(tensor, i));
    };
    return compare_with_samples(
        [&](std::uint64_t seed) -> Status {
          noise.seed = seed;
          auto status = add_sample(*wide_before_, inputs, noise, before);
          if (!status) return status;
          return add_sample(*wide_after_, inputs, noise, after);
        },
        [&] { return compare(wide.before, wide.after, bound, random); });
  }

  const ir::Model& before_model_;
  const ExecutorOptions options_;
  const std::optional<Tolerance> tolerance_;
  std::string why_not_, only_own_types_;
  std::unique_ptr<Executor> after_;
  std::unique_ptr<Executor> before_;  // made when it is needed
  std::unique_ptr<Executor> wide_before_, wide_after_;  // nullptr: cannot be
  std::optional<SharedNumbers> shared_;
};

class Verifying {
 public:
  Verifying(const ir::Model& before, const ir::Model& after,
            const VerifyOptions& options)
      : before_model_(before),
        options_(options),
        executor_options_{.backends = options.backends,
                          .prefers_functions = true,
                          .threads = options.threads,
                          .memory = HostMemory::create(options.limit_memory),
                          .seed = 1,
                          .deadline = options.deadline},
        pair_(before, after, executor_options_, options.tolerance) {}

  // On `given`, or, without them, on inputs that are drawn.
  Result<Verification> run(const Named* given) {
    if (const auto& why = pair_.why_not(); !why.empty()) {
      return Verification{.unverified = why};
    }
    const Status status = given != nullptr ? on(*given) : on_drawn();
    if (!status) return status.error();
    return take();
  }

 private:
  Status on(const Named& inputs) {
    auto before = Executor::create(before_model_, executor_options_);
    if (!before) {
      out_.unverified = one_line(before.error());
      return {};
    }
    const auto outputs = (*before)->run(inputs);
    if (outputs) return compare_on(inputs, *outputs);
    if (ends_all(outputs.error())) return outputs.error();
    out_.unverified = one_line(outputs.error());
    return {};
  }

  // Inputs that are drawn for the model, until some show a difference.
  Status on_drawn() {
    const auto drawn =
        for_each_input_set(before_model_, executor_options_, options_.inputs,
                           [&](const InputSet& set) -> Result<bool> {
                             note_sizes(set.sizes);
                             auto status = compare_on(set.inputs, set.outputs);
                             if (!status) return status.error();
                             return !out_.mismatch.has_value();
                           });
    if (!drawn) return drawn.error();
    out_.unverified = drawn->unverified;
    out_.notes = drawn->notes;
    // One set that fits by chance, an empty one say, proves little.
    if (drawn->limit && drawn->sets < 2) return *drawn->limit;
    return {};
  }

  Verification take() {
    if (out_.inputs == 0) return std::move(out_);
    out_.unverified.clear();
    for (const Output& each : outputs_) {
      if (!out_.mismatch && !each.is_finite && each.has_elements) {
        out_.unverified = "output '" + printable(each.name) +
                          "' is NaN or infinite on all inputs that were drawn";
      }
      if (!each.is_random) continue;
      ++out_.left_out;
      out_.notes.push_back("output '" + printable(each.name) +
                           "' depends on random numbers that the result does "
                           "not draw alike, so it is not verified");
    }
    if (out_.left_out == outputs_.size() && out_.left_out > 0 &&
        !out_.mismatch) {
      out_.unverified = std::move(out_.notes.front());
      out_.notes.clear();
    }
    if (!only_own_types_.empty()) {
      out_.notes.push_back(
          "some outputs were compared in their own types alone: " +
          only_own_types_);
    }
    return std::move(out_);
  }

  Status compare_on(const Named& inputs, const Named& before) {
    auto compared = pair_.compare_on(inputs, before);
    if (!compared) return compared.error();
    ++out_.inputs;
    out_.max_abs = std::max(out_.max_abs, compared->found.max_abs);
    out_.max_rel = std::max(out_.max_rel, compared->found.max_rel);
    if (only_own_types_.empty()) only_own_types_ = compared->only_own_types;
    if (compared->found.mismatch) {
      out_.mismatch = std::move(compared->found.mismatch);
      out_.shown_by = inputs;
    }
    const auto finite = finite_outputs(before);
    outputs_.resize(finite.size());
    for (std::size_t i = 0; i < finite.size(); ++i) {
      Output& own = outputs_[i];
      own.name = before[i].first;
      own.is_random |= i < compared->random.size() && compared->random[i];
      own.has_elements |= finite[i].has_value();
      own.is_finite |= finite[i] == true;
    }
    return {};
  }

  void note_sizes(const std::map<std::string, std::int64_t>& sizes) {
    for (const auto& [name, size] : sizes) {
      auto& seen = out_.sizes[name];
      if (std::ranges::find(seen, size) == seen.end()) seen.push_back(size);
    }
  }

  const ir::Model& before_model_;
  const VerifyOptions& options_;
  const ExecutorOptions executor_options_;
  ModelPair pair_;
  std::string only_own_types_;  // why, on some inputs
  struct Output {
    std::string name;
    bool has_elements = false, is_finite = false, is_random = false;
  };
  std::vector<Output> outputs_;  // as they are on some inputs
  Verification out_;
};

}  // namespace

Result<Verification> verify(const ir::Model& before, const ir::Model& after,
                            const VerifyOptions& options,
                            const Executor::Named* inputs) {
  return Verifying(before, after, options).run(inputs);
}

}  // namespace ruleengine::runtime
