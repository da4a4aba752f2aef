#include "bindings/cli/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bindings/cli/judging.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "core/base/version.h"
#include "core/engine/json.h"
#include "core/engine/target.h"
#include "runtime/compare.h"
#include "runtime/executor.h"

namespace ruleengine::cli {
namespace {

constexpr std::string_view kOurs = "ours";
constexpr double kMilliseconds = 1e3;
// An answer of the runtime may take this long, or twice --time.
constexpr double kAnswerSeconds = 120;

// This program's executor.
class OurRuntime final : public engine::Runtime {
 public:
  OurRuntime(runtime::NamedValues inputs, const Options& options)
      : inputs_(std::move(inputs)), options_(options) {}

  std::string name() const override {
    return fmt::format("ruleengine {}", kVersion);
  }

  Result<std::unique_ptr<engine::Session>> load(
      std::unique_ptr<ir::Model> model) override {
    if (auto status = make_runnable(*model); !status) return status.error();
    auto executor =
        runtime::Executor::create(*model, executor_options(options_));
    if (!executor) return executor.error();
    return std::unique_ptr<engine::Session>(std::make_unique<OurSession>(
        std::move(model), *std::move(executor), inputs_));
  }

 private:
  class OurSession final : public engine::Session {
   public:
    OurSession(std::unique_ptr<ir::Model> model,
               std::unique_ptr<runtime::Executor> executor,
               const runtime::NamedValues& inputs)
        : model_(std::move(model)),
          executor_(std::move(executor)),
          inputs_(inputs) {}

    Result<double> run(int times) override {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < times; ++i) {
        const auto outputs = executor_->run(inputs_);
        if (!outputs) return outputs.error();
      }
      const std::chrono::duration<double> taken =
          std::chrono::steady_clock::now() - begin;
      return taken.count();
    }

    Result<std::string> difference(engine::Session& other) override {
      auto& its = static_cast<OurSession&>(other);
      const auto theirs = its.executor_->run(inputs_);
      if (!theirs) return theirs.error();
      const auto ours = executor_->run(inputs_);
      if (!ours) return ours.error();
      const auto compared = runtime::compare(*theirs, *ours);
      return compared.mismatch ? compared.mismatch->text : std::string();
    }

   private:
    std::unique_ptr<ir::Model> model_;
    std::unique_ptr<runtime::Executor> executor_;
    const runtime::NamedValues& inputs_;
  };

  runtime::NamedValues inputs_;
  const Options& options_;
};

// The inputs of --inputs, or random ones with which the model runs.
Result<runtime::NamedValues> inputs_for(const ir::Model& model,
                                        const Options& options) {
  if (!options.inputs.empty()) return read_inputs(model, options);
  Runnable runnable(model);
  if (auto status = runnable.prepare(); !status) return status.error();
  auto executor =
      runtime::Executor::create(runnable.model(), executor_options(options));
  if (executor) return draw_inputs(**executor, runnable.model(), options);
  Diagnostic error = executor.error();
  error.hint = "give inputs with --inputs FILE.npz";
  return error;
}

// Bytes of a new file.
Status write_file(const std::string& path, const std::string& bytes) {
  auto staged = stage_text(path, bytes);
  if (!staged) return staged.error();
  if (auto status = staged->commit(); !status) return status;
  staged->release();
  return {};
}

Result<engine::Recording> read_recording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file.good() && text.empty()) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the measurements cannot be read",
                      .where = path};
  }
  return engine::recording_of(text, path);
}

engine::MakeModel maker(engine::Variants& variants) {
  return [&](const engine::Variant& variant)
             -> Result<std::unique_ptr<ir::Model>> {
    auto made = variants.make(variant);
    if (!made) return made.error();
    return std::move(made->model);
  };
}

// `auto` tries all targets, the one first that most runtimes read.
std::vector<std::string> targets_of(const Options& options) {
  if (!options.every_target || options.target != "auto") {
    return {options.target};
  }
  std::vector<std::string> out;
  for (const engine::Target& each : engine::targets()) {
    out.emplace_back(each.name);
  }
  return out;
}

std::string percent_text(const Spread& speedup) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", speedup.median, speedup.low,
                     speedup.high);
}

std::string gain_text(const engine::Tuned::Effect& effect) {
  if (!effect.failed.empty()) return "needed: " + effect.failed;
  return fmt::format("{:+.3f} ms",
                     (effect.without - effect.with) * kMilliseconds);
}

std::string verdict_text(const engine::Tuned::Effect& effect) {
  std::string text = effect.kept ? "kept" : "left out";
  if (effect.verdict == engine::Verdict::kSame) text += ", no difference";
  return text;
}

}  // namespace

Result<std::unique_ptr<Bench>> Bench::create(const ir::Model& model,
                                             const Options& options) {
  auto inputs = inputs_for(model, options);
  if (!inputs) return inputs.error();
  auto bench = std::make_unique<Bench>();
  if (options.runtime == kOurs) {
    bench->runtime_ = std::make_unique<OurRuntime>(*std::move(inputs), options);
    return bench;
  }
  auto command = runtime_command(options.runtime);
  if (!command) return command.error();
  auto scratch = Scratch::create();
  if (!scratch) return scratch.error();
  bench->scratch_ = *std::move(scratch);
  bench->inputs_ = bench->scratch_->file(".npz");
  const auto bytes = runtime::npz_of(*inputs);
  if (!bytes) return bytes.error();
  auto status = write_file(bench->inputs_.path(), *bytes);
  if (!status) return status.error();
  bench->runtime_ = std::make_unique<CommandRuntime>(
      CommandRuntime::Settings{
          .command = *std::move(command),
          .inputs = bench->inputs_.path(),
          .answer_seconds =
              std::min(std::max(kAnswerSeconds, 2 * options.tune_seconds),
                       std::max(deadline_of(options).seconds_left(), 0.1)),
          .limit_memory = options.exec_memory << 20},
      *bench->scratch_);
  return bench;
}

Result<engine::Tuned> tune_model(engine::Variants& variants,
                                 const ir::Model& model,
                                 const Options& options) {
  std::unique_ptr<engine::Meter> meter;
  std::unique_ptr<Bench> bench;
  std::string runtime;
  if (options.replay.empty()) {
    auto created = Bench::create(model, options);
    if (!created) return created.error();
    bench = *std::move(created);
    meter = std::make_unique<engine::LiveMeter>(
        bench->runtime(), maker(variants), options.tune_seconds);
  } else {
    auto recording = read_recording(options.replay);
    if (!recording) return recording.error();
    runtime = std::move(recording->runtime);
    meter = std::make_unique<engine::PlayedMeter>(
        std::move(recording->measurements));
  }
  const Deadline deadline = deadline_of(options);
  const auto began = std::chrono::steady_clock::now();
  Progress progress("measuring", !options.quiet);
  const auto show = progress.callback();
  const auto proceed = [&](const std::string&) {
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - began;
    const double all = options.tune_seconds * kMilliseconds;
    if (show) {
      show(static_cast<std::uint64_t>(std::min(taken.count(), all)),
           static_cast<std::uint64_t>(all));
    }
    return deadline.check();
  };
  auto tuned = engine::tune(variants, targets_of(options), *meter, proceed);
  if (!tuned) return tuned.error();
  tuned->runtime = bench ? bench->runtime().name() : runtime;
  if (!options.record.empty()) {
    auto status =
        write_file(options.record, engine::json_text(engine::to_json(*tuned)));
    if (!status) return status.error();
  }
  return tuned;
}

Status measure(engine::Variants& variants, const ir::Model& model,
               const Options& options, engine::FileReport& report) {
  auto bench = Bench::create(model, options);
  if (!bench) return bench.error();
  engine::LiveMeter meter((*bench)->runtime(), maker(variants),
                          options.tune_seconds);
  auto measured =
      meter.compare(engine::Step::kFinal, {}, {report.run.target, {}}, 0);
  if (!measured) return measured.error();
  report.measured = *std::move(measured);
  report.runtime = (*bench)->runtime().name();
  return {};
}

std::string text_of(const engine::Tuned& tuned, bool verbose) {
  std::string text;
  std::vector<std::vector<std::string>> rows = {
      {"target", "times as fast (99 %)", ""}};
  for (const engine::Tuned::Target& each : tuned.targets) {
    rows.push_back({each.name,
                    each.failed.empty() ? percent_text(each.speedup) : "-",
                    each.failed});
  }
  text += table(rows);
  rows = {{"rule", "sites", "gain", ""}};
  for (const engine::Tuned::Effect& each : tuned.effects) {
    const bool is_part = !each.part.kind.empty() || !each.part.value.empty();
    const bool changed = each.verdict != engine::Verdict::kSame;
    if (is_part && !changed && !verbose) continue;
    rows.push_back({each.part.text(), std::to_string(each.sites),
                    gain_text(each), verdict_text(each)});
  }
  if (rows.size() > 1) text += table(rows);
  if (!tuned.complete) {
    text += "the time was over before all was tried; --time gives more\n";
  }
  text += fmt::format("noise of {}: {:.1f} %\n", printable(tuned.runtime),
                      tuned.noise * 100);
  if (tuned.best.is_original()) {
    return text + "nothing is measurably faster than the model itself\n";
  }
  return text + fmt::format("{}: {:.3f} -> {:.3f} ms, {} times as fast\n",
                            tuned.best.target,
                            tuned.seconds_before * kMilliseconds,
                            tuned.seconds_after * kMilliseconds,
                            percent_text(tuned.speedup));
}

std::string text_of(const engine::Comparison& measured,
                    const std::string& runtime) {
  if (!measured.failed.empty()) {
    return fmt::format("{} does not run the result: {}", printable(runtime),
                       printable(measured.failed));
  }
  return fmt::format("{}: {:.3f} -> {:.3f} ms, {} times as fast",
                     printable(runtime), measured.seconds_of() * kMilliseconds,
                     measured.seconds_against() * kMilliseconds,
                     percent_text(measured.speedup()));
}

void add_tuning(CLI::App* verb, Options& o) {
  verb->add_option("--runtime", o.runtime,
                   "what measures: ours, onnxruntime, openvino, or a command "
                   "(docs/tune.md); ours");
  verb->add_option("--time", o.tune_seconds, "seconds to measure in, about; 60")
      ->check(number(1, 1e6));
  verb->add_option("--record", o.record, "a file for the measurements");
  verb->add_option("--replay", o.replay,
                   "use these measurements instead of making new ones");
}

}  // namespace ruleengine::cli
