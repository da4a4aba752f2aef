#include "runtime/random_inputs.h"

#include <optional>
#include <utility>

#include "runtime/drawing/input_source.h"

namespace ruleengine::runtime {
namespace {

Result<Executor::Named> draw_as(InputSource& source,
                                const InputOptions& options,
                                const std::shared_ptr<HostMemory>& memory) {
  if (auto status = source.sizes().check(); !status) return status.error();
  const Drawn how{.seed = options.seed,
                  .integers = options.integers,
                  .deadline = options.deadline};
  const SizeOf sizes = options.sizes == Sizes::kDistinct
                           ? source.sizes().solve(0)
                           : source.sizes().guess(options.sizes);
  if (options.sizes == Sizes::kLong &&
      bytes_of_inputs(source.model(), sizes) > kMostInputBytes) {
    return Diagnostic{.what = "inputs of such sizes are too large to be tried"};
  }
  return source.draw(sizes, how, memory);
}

}  // namespace

Result<Executor::Named> random_inputs(
    const ir::Model& model, const InputOptions& options,
    const std::shared_ptr<HostMemory>& memory) {
  InputSource source(model, options.dims);
  return draw_as(source, options, memory);
}

Status try_inputs(InputOptions options,
                  const std::function<Status(const InputOptions&)>& trial) {
  std::optional<Diagnostic> first;
  // The likeliest first.
  for (const Sizes sizes : {Sizes::kDistinct, Sizes::kCache, Sizes::kEqual,
                            Sizes::kOne, Sizes::kLong}) {
    for (const Integers integers : {Integers::kWide, Integers::kSmall,
                                    Integers::kBits, Integers::kOnes}) {
      options.sizes = sizes;
      options.integers = integers;
      Status status = trial(options);
      if (status || status.error().kind == ErrorKind::kLimit ||
          status.error().kind == ErrorKind::kUsage ||
          status.error().remedy != Remedy::kNone) {
        return status;
      }
      if (!first) first = status.error();
    }
  }
  if (first->hint.empty()) {
    first->hint = options.dims.empty()
                      ? "no random inputs that were tried fit"
                      : "no random inputs of the given sizes fit";
    first->remedy = Remedy::kInputs;
  }
  return *std::move(first);
}

Result<Executor::Named> inputs_to_run(
    Executor& executor, const ir::Model& model, const InputOptions& options,
    const std::shared_ptr<HostMemory>& memory) {
  Executor::Named found;
  InputSource source(model, options.dims);
  const auto status =
      try_inputs(options, [&](const InputOptions& how) -> Status {
        auto inputs = draw_as(source, how, memory);
        if (!inputs) return inputs.error();
        const auto ran = executor.run(*inputs);
        if (!ran) return ran.error();
        found = *std::move(inputs);
        return {};
      });
  if (!status) return status.error();
  return found;
}

}  // namespace ruleengine::runtime
