#include "runtime/verify.h"

#include <algorithm>
#include <utility>

#include "runtime/drawing/input_sets.h"
#include "runtime/model_pair.h"

namespace ruleengine::runtime {
namespace {

using Named = Executor::Named;

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

  // Why the result cannot be run at all; "" where it can.
  const std::string& why_not() const { return pair_.why_not(); }

  // Inputs of the caller.
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
    const auto drawn = for_each_input_set(
        before_model_, executor_options_,
        {.inputs = options_.inputs, .extremes = options_.extremes},
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

 private:
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
  Verifying verifying(before, after, options);
  if (!verifying.why_not().empty()) {
    return Verification{.unverified = verifying.why_not()};
  }
  const auto status =
      inputs != nullptr ? verifying.on(*inputs) : verifying.on_drawn();
  if (!status) return status.error();
  return verifying.take();
}

}  // namespace ruleengine::runtime
