#include "runtime/verify.h"

#include <algorithm>
#include <utility>

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
        executor_options_{.find_kernel = options.find_kernel,
                          .prefers_functions = true,
                          .threads = options.threads,
                          .limit_memory = options.limit_memory,
                          .seed = 1,
                          .deadline = options.deadline},
        pair_(before, after, executor_options_, options.tolerance) {}

  // False if one of them cannot be run at all; the verification says why.
  bool prepare() {
    auto before = Executor::create(before_model_, executor_options_);
    if (!before) {
      out_.unverified = one_line(before.error());
      return false;
    }
    before_ = *std::move(before);
    out_.unverified = pair_.why_not();
    return out_.unverified.empty();
  }

  // Whether `before` ran on the inputs, so that a verification was possible.
  Result<bool> on(const Named& inputs) {
    auto before = before_->run(inputs);
    if (!before) {
      if (is_limit(before.error())) return before.error();
      if (out_.unverified.empty()) out_.unverified = one_line(before.error());
      return false;
    }
    if (auto status = compare_on(inputs, *before); !status) {
      return status.error();
    }
    return true;
  }

  // The first whole numbers that the model runs with, for sizes of this kind.
  Result<bool> with(Sizes sizes, Floats floats) {
    InputOptions how = options_.inputs;
    how.sizes = sizes;
    how.floats = floats;
    for (const Integers integers : kIntegersToTry) {
      how.integers = integers;
      const auto inputs = random_inputs(before_model_, how,
                                        Memory::create(options_.limit_memory));
      if (!inputs) {
        if (inputs.error().kind == ErrorKind::kUsage) return inputs.error();
        if (out_.unverified.empty()) out_.unverified = one_line(inputs.error());
        return false;
      }
      const auto ran = on(*inputs);
      if (!ran) return ran.error();
      if (*ran) return true;
    }
    return false;
  }

  bool is_over() const { return out_.mismatch.has_value(); }

  Verification take() {
    if (out_.inputs == 0) return std::move(out_);
    out_.unverified.clear();
    for (std::size_t i = 0; i < is_finite_.size() && !is_over(); ++i) {
      if (is_finite_[i]) continue;
      out_.unverified = "output '" + printable(names_[i]) +
                        "' is NaN or infinite on all inputs that were drawn";
    }
    for (std::size_t i = 0; i < is_random_.size(); ++i) {
      if (!is_random_[i]) continue;
      out_.notes.push_back("output '" + printable(names_[i]) +
                           "' depends on random numbers that the result does "
                           "not draw alike, so it is not verified");
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
    if (compared->found.mismatch) {
      out_.mismatch = std::move(compared->found.mismatch);
      out_.shown_by = inputs;
    }
    const std::vector<bool> finite = has_finite(before);
    names_.resize(finite.size());
    is_finite_.resize(finite.size());
    is_random_.resize(finite.size());
    for (std::size_t i = 0; i < finite.size(); ++i) {
      names_[i] = before[i].first;
      const bool random = i < compared->random.size() && compared->random[i];
      is_random_[i] = is_random_[i] || random;
      is_finite_[i] = is_finite_[i] || finite[i];
    }
    return {};
  }

  const ir::Model& before_model_;
  const VerifyOptions& options_;
  const ExecutorOptions executor_options_;
  ModelPair pair_;
  std::unique_ptr<Executor> before_;
  // By output.
  std::vector<std::string> names_;
  std::vector<bool> is_finite_, is_random_;  // on some inputs
  Verification out_;
};

bool has_names(const ir::Model& model) {
  const ir::Graph& graph = model.graph;
  for (const ir::ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    const ir::Type* type = graph.value(v).declared;
    if (type == nullptr) continue;
    for (const ir::Dim d : type->dims) {
      if (!d.known()) return true;
    }
  }
  return false;
}

}  // namespace

Result<Verification> verify(const ir::Model& before, const ir::Model& after,
                            const VerifyOptions& options) {
  Verifying verifying(before, after, options);
  if (!verifying.prepare()) return verifying.take();
  const bool has_sizes = has_names(before);
  std::optional<Sizes> fit;
  for (const Sizes sizes : kSizesToTry) {
    if (fit || (!has_sizes && sizes != Sizes::kDistinct)) break;
    const auto ran = verifying.with(sizes, Floats::kNormal);
    if (!ran) return ran.error();
    if (*ran) fit = sizes;
  }
  if (!fit) return verifying.take();
  const auto more = [&](Sizes sizes, Floats floats) -> Status {
    if (verifying.is_over()) return {};
    const auto ran = verifying.with(sizes, floats);
    return ran ? Status() : Status(ran.error());
  };
  for (const Floats floats : {Floats::kHidden, Floats::kLarge, Floats::kTiny}) {
    if (!options.extremes) break;
    if (auto status = more(*fit, floats); !status) return status.error();
  }
  for (const Sizes sizes : {Sizes::kEqual, Sizes::kOne, Sizes::kZero}) {
    if (!has_sizes || sizes == *fit) continue;
    if (sizes == Sizes::kZero && !options.extremes) continue;
    if (auto status = more(sizes, Floats::kNormal); !status) {
      return status.error();
    }
  }
  return verifying.take();
}

Result<Verification> verify_on(const Executor::Named& inputs,
                               const ir::Model& before, const ir::Model& after,
                               const VerifyOptions& options) {
  Verifying verifying(before, after, options);
  if (verifying.prepare()) {
    const auto ran = verifying.on(inputs);
    if (!ran) return ran.error();
  }
  return verifying.take();
}

}  // namespace ruleengine::runtime
