#include "bindings/api/exec.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bindings/api/profile.h"
#include "bindings/api/rules.h"
#include "core/engine/op_bodies.h"
#include "core/engine/options.h"
#include "core/ir/element_types.h"
#include "runtime/conversions.h"
#include "runtime/rank_threads.h"

namespace ruleengine::api {
namespace {

Result<Executed> load(const std::string& path, const ExecOptions& options,
                      const engine::OpBodies& bodies, std::size_t rank,
                      bool is_alone) {
  const Limits& limits = options.how.limits;
  auto model = load_model(path, {.limits = limits, .warn = options.warn});
  if (!model) return model.error();
  Executed out{.model = *std::move(model)};
  const auto written = bodies.write(*out.model, {.runs = true});
  if (!written) return written.error();
  if (!is_alone) {
    const auto facts = engine::facts_of(out.model->graph);
    out.predicted = ranks::traffic(out.model->graph, *facts);
  }
  if (rank < options.inputs.size()) {
    auto inputs = read_inputs(*out.model, options.inputs[rank], limits);
    if (!inputs) return inputs.error();
    out.inputs = *std::move(inputs);
  }
  return out;
}

// Where the inputs are drawn, `place` is null or `draw` says how.
Status run_model(Executed& done, const ExecOptions& options,
                 runtime::RankPlace* place, const runtime::InputOptions* draw) {
  const ExecutionOptions& given = options.how;
  Profile profile;
  auto made = executor_options(given);
  if (!made) return made.error();
  runtime::ExecutorOptions& how = *made;
  if (options.traces) how.trace = profile.trace();
  if (place != nullptr) {
    how.threads = std::max(1, given.threads);
    how.communicator = &place->communicator;
    how.is_cancelled = place->is_cancelled;
  }
  auto executor = runtime::Executor::create(*done.model, std::move(how));
  if (!executor) return executor.error();
  if (options.draws) {
    auto inputs =
        draw == nullptr
            ? inputs_for(**executor, *done.model, given)
            : runtime::random_inputs(
                  *done.model, *draw,
                  runtime::HostMemory::create(tensor_limit(given.limits)));
    if (!inputs) return inputs.error();
    done.inputs = *std::move(inputs);
  }
  profile.clear();
  auto outputs = (*executor)->run(done.inputs);
  if (!outputs) {
    Diagnostic error = outputs.error();
    if (error.where.empty()) error.where = done.model->path;
    return error;
  }
  done.outputs = *std::move(outputs);
  if (place != nullptr) done.sent = place->communicator.sent();
  // The profile refers to the graph that the executor runs.
  if (options.traces) done.trace = profile.chrome_trace();
  return check_end(*done.model, given.limits.deadline);
}

Status run_ranks(std::vector<Executed>& all, const ExecOptions& options,
                 const runtime::InputOptions* draw) {
  return runtime::run_ranks(
      static_cast<int>(all.size()), [&](runtime::RankPlace& place) {
        const auto rank = static_cast<std::size_t>(place.communicator.rank());
        return run_model(all[rank], options, &place, draw);
      });
}

}  // namespace

Result<std::vector<Executed>> exec(const std::vector<std::string>& models,
                                   const ExecOptions& options) {
  const auto count = options.ranks > 0 ? static_cast<std::size_t>(options.ranks)
                                       : models.size();
  if (models.empty() || (models.size() != 1 && models.size() != count)) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "there are " + std::to_string(models.size()) +
                              " models for " + std::to_string(count) + " ranks",
                      .hint = "one model for all ranks, or one for each"};
  }
  LoadedRules rules;
  engine::OpBodies bodies;
  if (!options.rules.empty()) {
    auto loaded = load_rules(options.rules, {.limits = options.how.limits});
    if (!loaded) return loaded.error();
    rules = *std::move(loaded);
    bodies = engine::OpBodies(rules->bodies());
  }
  const bool is_alone = count == 1 && options.ranks == 0;
  ExecOptions on = options;
  std::vector<Executed> all;
  for (std::size_t rank = 0; rank < count; ++rank) {
    auto done = load(models[models.size() == 1 ? 0 : rank], options, bodies,
                     rank, is_alone);
    if (!done) return done.error();
    all.push_back(*std::move(done));
  }
  const Status status = on_device(on.how, [&]() -> Status {
    if (is_alone) return run_model(all[0], on, nullptr, nullptr);
    if (!on.draws) return run_ranks(all, on, nullptr);
    // Until all ranks can run on them.
    return runtime::try_inputs(input_options(on.how), [&](const auto& draw) {
      return run_ranks(all, on, &draw);
    });
  });
  if (!status) return status.error();
  return all;
}

std::optional<Range> range_of(const runtime::Datum& value) {
  if (!value.is_tensor() || value.tensor().count() == 0) return std::nullopt;
  runtime::Threads one(1);
  runtime::KernelRun run{.memory = runtime::HostMemory::create(),
                         .threads = &one};
  const runtime::Tensor t = runtime::widened(value.tensor(), run);
  Range out{.low = INFINITY, .high = -INFINITY};
  using Known = ir::Types<float, double, std::int32_t, std::int64_t>;
  const bool is_known = ir::visit_type(Known(), t.dtype(), [&]<typename T>() {
    for (const T each : t.values<T>()) {
      const auto number = static_cast<double>(each);
      out.low = std::min(out.low, number);
      out.high = std::max(out.high, number);
      out.mean += number;
    }
  });
  if (!is_known) return std::nullopt;
  out.mean /= static_cast<double>(t.count());
  return out;
}

}  // namespace ruleengine::api
