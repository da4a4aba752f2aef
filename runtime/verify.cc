#include "runtime/verify.h"

#include <fmt/format.h>

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
    for (std::size_t i = 0; i < is_finite_.size() && !out_.mismatch; ++i) {
      if (is_finite_[i] || !has_elements_[i]) continue;
      out_.unverified = "output '" + printable(names_[i]) +
                        "' is NaN or infinite on all inputs that were drawn";
    }
    for (std::size_t i = 0; i < is_random_.size(); ++i) {
      if (!is_random_[i]) continue;
      leave_out(i,
                "depends on random numbers that the result does not draw "
                "alike");
    }
    if (out_.left_out == names_.size() && out_.left_out > 0 && !out_.mismatch) {
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
  void leave_out(std::size_t output, std::string_view why) {
    ++out_.left_out;
    out_.notes.push_back(fmt::format("output '{}' {}, so it is not verified",
                                     printable(names_[output]), why));
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
    names_.resize(finite.size());
    has_elements_.resize(finite.size());
    is_finite_.resize(finite.size());
    is_random_.resize(finite.size());
    for (std::size_t i = 0; i < finite.size(); ++i) {
      names_[i] = before[i].first;
      const bool random = i < compared->random.size() && compared->random[i];
      is_random_[i] = is_random_[i] || random;
      has_elements_[i] = has_elements_[i] || finite[i];
      is_finite_[i] = is_finite_[i] || finite[i] == true;
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
  // By output.
  std::vector<std::string> names_;
  std::vector<bool> has_elements_, is_finite_, is_random_;  // on some inputs
  Verification out_;
};

Result<Verification> verified(const ir::Model& before, const ir::Model& after,
                              const VerifyOptions& options,
                              const Named* inputs) {
  Verifying verifying(before, after, options);
  if (!verifying.why_not().empty()) {
    return Verification{.unverified = verifying.why_not()};
  }
  const auto status =
      inputs != nullptr ? verifying.on(*inputs) : verifying.on_drawn();
  if (!status) return status.error();
  return verifying.take();
}

}  // namespace

Result<Verification> verify(const ir::Model& before, const ir::Model& after,
                            const VerifyOptions& options) {
  return verified(before, after, options, nullptr);
}

Result<Verification> verify_on(const Executor::Named& inputs,
                               const ir::Model& before, const ir::Model& after,
                               const VerifyOptions& options) {
  return verified(before, after, options, &inputs);
}

}  // namespace ruleengine::runtime
