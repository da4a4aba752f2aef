#include "bindings/api/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bindings/api/command_runtime.h"
#include "bindings/api/files.h"
#include "bindings/api/scratch.h"
#include "bindings/api/session.h"
#include "core/base/stopwatch.h"
#include "core/base/version.h"
#include "core/engine/json.h"
#include "core/engine/target.h"
#include "runtime/compare.h"

namespace ruleengine::api {
namespace {

constexpr std::string_view kOurs = "ours";
constexpr double kMilliseconds = 1e3;
// An answer of the runtime may take this long or twice the time to measure in,
// whichever is longer.
constexpr double kAnswerSeconds = 120;

// This program's executor.
class OurRuntime final : public engine::MeasuredRuntime {
 public:
  OurRuntime(runtime::NamedData inputs, const ExecutionOptions& options)
      : inputs_(std::move(inputs)), options_(options) {}

  std::string name() const override {
    return fmt::format("ruleengine {}", kVersion);
  }

  Result<std::unique_ptr<engine::RuntimeSession>> load(
      std::unique_ptr<ir::Model> model) override {
    auto session = Session::create(*model, {}, options_);
    if (!session) return session.error();
    if (Status s = (*session)->warm_up(inputs_, {}); !s) return s.error();
    return std::unique_ptr<engine::RuntimeSession>(std::make_unique<OurSession>(
        std::move(model), *std::move(session), inputs_));
  }

 private:
  class OurSession final : public engine::RuntimeSession {
   public:
    OurSession(std::unique_ptr<ir::Model> model,
               std::unique_ptr<Session> session,
               const runtime::NamedData& inputs)
        : model_(std::move(model)),
          session_(std::move(session)),
          inputs_(inputs) {}

    Result<double> run(int times) override {
      const Stopwatch watch;
      for (int i = 0; i < times; ++i) {
        const auto outputs = session_->run(inputs_, {});
        if (!outputs) return outputs.error();
      }
      return watch.seconds();
    }

    Result<std::optional<std::string>> difference(
        engine::RuntimeSession& other) override {
      auto& its = static_cast<OurSession&>(other);
      const auto theirs = its.session_->run(inputs_, {});
      if (!theirs) return std::optional<std::string>();
      const auto ours = session_->run(inputs_, {});
      if (!ours) return ours.error();
      const auto compared = runtime::compare_by_type(*theirs, *ours);
      return std::optional(compared.mismatch ? compared.mismatch->text
                                             : std::string());
    }

   private:
    std::unique_ptr<ir::Model> model_;
    std::unique_ptr<Session> session_;
    const runtime::NamedData& inputs_;
  };

  runtime::NamedData inputs_;
  ExecutionOptions options_;
};

// The inputs of a file, or random ones with which the model runs.
Result<runtime::NamedData> draw_for(const ir::Model& model,
                                    const ExecutionOptions& options) {
  if (!options.inputs.empty()) {
    return read_inputs(model, options.inputs, options.limits);
  }
  auto how = executor_options(options);
  if (!how) return how.error();
  auto executor = runtime::Executor::create(model, *std::move(how));
  if (executor) return inputs_for(**executor, model, options);
  Diagnostic error = executor.error();
  error.remedy = Remedy::kInputs;
  return error;
}

Result<engine::Recording> read_recording(const std::string& path) {
  const auto text = read_text_file(path);
  if (text) return engine::recording_of(*text, path);
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "the measurements cannot be read",
                    .where = path,
                    .found = text.error().found};
}

engine::MakeModel maker(engine::Variants& variants) {
  return [&](const engine::Variant& variant)
             -> Result<std::unique_ptr<ir::Model>> {
    auto made = variants.make(variant);
    if (!made) return made.error();
    return std::move(made->model);
  };
}

std::vector<std::string> targets_of(const TuneOptions& options) {
  if (!options.targets.empty()) return options.targets;
  std::vector<std::string> out;
  for (const engine::Target* each : engine::distinct_targets()) {
    out.emplace_back(each->name);
  }
  return out;
}

// A runtime, with inputs for one model.
class Prepared {
 public:
  static Result<std::unique_ptr<Prepared>> create(
      const ir::Model& model, const MeasureOptions& options) {
    auto inputs = draw_for(model, options.how);
    if (!inputs) return inputs.error();
    auto out = std::make_unique<Prepared>();
    const bool is_ours = options.runtime.empty() || options.runtime == kOurs;
    if (is_ours) {
      out->runtime_ =
          std::make_unique<OurRuntime>(*std::move(inputs), options.how);
      return out;
    }
    if (auto status = out->start(*inputs, options); !status) {
      return status.error();
    }
    return out;
  }

  engine::MeasuredRuntime& runtime() { return *runtime_; }

 private:
  Status start(const runtime::NamedData& inputs,
               const MeasureOptions& options) {
    auto command = runtime_command(options.runtime);
    if (!command) return command.error();
    auto scratch = Scratch::create();
    if (!scratch) return scratch.error();
    scratch_ = *std::move(scratch);
    inputs_ = scratch_->file(".npz");
    const auto bytes = runtime::npz_of(inputs);
    if (!bytes) return bytes.error();
    auto status = write_file(inputs_.path(), *bytes);
    if (!status) return status;
    const Limits& limits = options.how.limits;
    runtime_ = std::make_unique<CommandRuntime>(
        CommandRuntime::Settings{
            .command = *std::move(command),
            .inputs = inputs_.path(),
            .answer_seconds = std::max(kAnswerSeconds, 2 * options.seconds),
            .deadline = limits.deadline,
            .threads = options.how.threads,
            .limit_memory = tensor_limit(limits)},
        *scratch_);
    return {};
  }

  std::unique_ptr<Scratch> scratch_;
  ScratchFile inputs_;
  std::unique_ptr<engine::MeasuredRuntime> runtime_;
};

}  // namespace

Result<engine::Tuned> tune(engine::Variants& variants, const ir::Model& model,
                           const TuneOptions& options) {
  const MeasureOptions& how = options.measure;
  const Deadline& deadline = how.how.limits.deadline;
  std::unique_ptr<Prepared> prepared;  // outlives what the meter measures
  std::unique_ptr<engine::Meter> meter;
  std::string runtime;
  if (options.replay.empty()) {
    auto created = Prepared::create(model, how);
    if (!created) return created.error();
    prepared = *std::move(created);
    meter = std::make_unique<engine::LiveMeter>(
        prepared->runtime(), maker(variants), how.seconds, deadline);
  } else {
    auto recording = read_recording(options.replay);
    if (!recording) return recording.error();
    runtime = std::move(recording->runtime);
    meter = std::make_unique<engine::PlayedMeter>(
        std::move(recording->measurements));
  }
  const Stopwatch watch;
  const auto proceed = [&] {
    const double all = how.seconds * kMilliseconds;
    if (options.progress) {
      options.progress(static_cast<std::uint64_t>(
                           std::min(watch.seconds() * kMilliseconds, all)),
                       static_cast<std::uint64_t>(all));
    }
    return deadline.check();
  };
  engine::Tuned tuned;
  const Status done = engine::tune(
      [&](const engine::Variant& variant) { return variants.make(variant); },
      targets_of(options), *meter, proceed, tuned);
  tuned.runtime = prepared ? prepared->runtime().name() : runtime;
  if (!options.record.empty() && !tuned.measurements.empty()) {
    auto status =
        write_file(options.record, engine::json_text(engine::to_json(tuned)));
    if (done && !status) return status.error();
  }
  if (!done) return done.error();
  return tuned;
}

Result<MeasuredPair> measure(engine::Variants& variants, const ir::Model& model,
                             const std::string& target,
                             const MeasureOptions& options) {
  auto prepared = Prepared::create(model, options);
  if (!prepared) return prepared.error();
  engine::LiveMeter meter((*prepared)->runtime(), maker(variants),
                          options.seconds, options.how.limits.deadline);
  const auto noise = meter.compare(engine::Step::kNoise, {}, {}, 0);
  if (!noise) return noise.error();
  MeasuredPair out{.noise = engine::noise_of(*noise)};
  std::vector<engine::Comparison> all;
  do {
    auto measured =
        meter.compare(engine::Step::kFinal, {}, {target, {}}, out.noise);
    if (!measured) return measured.error();
    all.push_back(*std::move(measured));
  } while (all.back().failed.empty() && all.size() < engine::kPairs &&
           meter.goes_on());
  out.comparison = all.back().failed.empty() ? engine::middle(all) : all.back();
  out.runtime = (*prepared)->runtime().name();
  return out;
}

}  // namespace ruleengine::api
