#include "runtime/verify.h"

#include <algorithm>
#include <random>

#include "core/ir/narrow_float.h"
#include "runtime/adapt.h"

namespace ruleengine::runtime {
namespace {

using Named = Executor::Named;

// Floats that differ from those given by about a rounding error.
class Shaking {
 public:
  Shaking() : threads_(1) {
    run_.memory = Memory::create();
    run_.threads = &threads_;
  }

  Named shaken(const Named& inputs) {
    Named out;
    for (const auto& [name, value] : inputs) {
      out.emplace_back(name, value.is_tensor() ? of(value.tensor()) : value);
    }
    return out;
  }

 private:
  Datum of(const Tensor& t) {
    const DataType type = t.dtype();
    if (type == DataType::kFloat) return moved<float>(t, 0x1p-22);
    if (type == DataType::kDouble) return moved<double>(t, 0x1p-50);
    if (!ir::is_narrow_float(type)) return t;
    const double by = type == DataType::kFloat16 ? 0x1p-10 : 0x1p-7;
    return narrowed(moved<float>(widened(t, run_), by), type, run_);
  }

  template <typename T>
  Tensor moved(const Tensor& t, double by) {
    Tensor out(t.dtype(), t.dims(), run_.memory->allocate(t.byte_size()));
    for (std::int64_t i = 0; i < t.count(); ++i) {
      const double sign = (random_() & 1) != 0 ? 1 : -1;
      out.mutable_data<T>()[i] =
          static_cast<T>(static_cast<double>(t.data<T>()[i]) * (1 + sign * by));
    }
    return out;
  }

  Threads threads_;
  KernelRun run_;
  std::mt19937_64 random_{1};
};

bool is_limit(const Diagnostic& error) {
  return error.kind == ErrorKind::kLimit && error.remedy == Remedy::kTime;
}

std::string one_line(const Diagnostic& error) {
  std::string out = error.what;
  if (!error.found.empty()) out += ": " + error.found;
  if (!error.where.empty()) out += " (" + error.where + ")";
  return out;
}

class Verifying {
 public:
  Verifying(const ir::Model& before, const ir::Model& after,
            const VerifyOptions& options)
      : before_model_(before), after_model_(after), options_(options) {}

  // False if one of them cannot be run at all; the verification says why.
  Result<bool> prepare() {
    auto before = Executor::create(before_model_, executor_options());
    if (!before) {
      out_.unverified = one_line(before.error());
      return false;
    }
    before_ = *std::move(before);
    auto after = Executor::create(after_model_, executor_options());
    if (!after) {
      out_.unverified = "the result: " + one_line(after.error());
      return false;
    }
    after_ = *std::move(after);
    return true;
  }

  // Whether `before` ran on the inputs, so that a verification was possible.
  Result<bool> on(const Named& inputs) {
    auto before = before_->run(inputs);
    if (!before) {
      if (is_limit(before.error())) return before.error();
      if (out_.unverified.empty()) out_.unverified = one_line(before.error());
      return false;
    }
    auto after = after_->run(inputs);
    if (!after) {
      if (is_limit(after.error())) return after.error();
      ++out_.inputs;
      show({"", "the result cannot be run: " + one_line(after.error())},
           inputs);
      return true;
    }
    Comparison found = compare(*before, *after);
    if (found.mismatch) {
      if (draws_numbers(inputs, *before)) {
        out_.unverified = "the model draws random numbers";
        return false;
      }
      found = compare(*before, *after, slack(inputs, *before));
    }
    ++out_.inputs;
    out_.max_abs = std::max(out_.max_abs, found.max_abs);
    out_.max_rel = std::max(out_.max_rel, found.max_rel);
    if (found.mismatch) show(*std::move(found.mismatch), inputs);
    return true;
  }

  // The first whole numbers that the model runs with, for sizes of this kind.
  Result<bool> with(Sizes sizes, Floats floats) {
    InputOptions how = options_.inputs;
    how.sizes = sizes;
    how.floats = floats;
    for (const Integers integers : kIntegersToTry) {
      how.integers = integers;
      const auto inputs =
          random_inputs(before_model_, how, Memory::create(limit()));
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
    if (out_.inputs > 0) out_.unverified.clear();
    return std::move(out_);
  }

 private:
  std::size_t limit() const { return options_.limit_memory; }

  ExecutorOptions executor_options() const {
    return {.find_kernel = options_.find_kernel,
            .prefers_functions = true,
            .threads = options_.threads,
            .limit_memory = options_.limit_memory,
            .seed = seed_,
            .deadline = options_.deadline};
  }

  void show(Mismatch mismatch, const Named& inputs) {
    out_.mismatch = std::move(mismatch);
    out_.shown_by = inputs;
  }

  bool draws_numbers(const Named& inputs, const Named& results) {
    ExecutorOptions other = executor_options();
    other.seed = seed_ + 1;
    const auto again = Executor::create(before_model_, std::move(other));
    if (!again) return false;
    const auto differently = (*again)->run(inputs);
    return differently && compare(results, *differently).mismatch.has_value();
  }

  // How far the outputs move if the inputs move by a rounding error: what one
  // rewrite may move them by as well. Several shakes, since a step that rounds
  // to whole numbers moves rarely.
  Slack slack(const Named& inputs, const Named& results) {
    Slack out(results.size(), 0);
    Shaking shaking;
    for (int i = 0; i < 3; ++i) {
      const auto moved = before_->run(shaking.shaken(inputs));
      if (!moved) break;
      const Slack own = distances(results, *moved);
      for (std::size_t k = 0; k < std::min(own.size(), out.size()); ++k) {
        out[k] = std::max(out[k], 8 * own[k]);
      }
    }
    return out;
  }

  const ir::Model& before_model_;
  const ir::Model& after_model_;
  const VerifyOptions& options_;
  const std::uint64_t seed_ = 1;
  std::unique_ptr<Executor> before_, after_;
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
  const auto ready = verifying.prepare();
  if (!ready) return ready.error();
  if (!*ready) return verifying.take();
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
  const auto ready = verifying.prepare();
  if (!ready) return ready.error();
  if (*ready) {
    const auto ran = verifying.on(inputs);
    if (!ran) return ran.error();
  }
  return verifying.take();
}

}  // namespace ruleengine::runtime
