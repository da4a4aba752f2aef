// Runs a model on drawn inputs, one set after the other, within a bound of
// time, and hands on those that it ran on. Internal to
// runtime/drawing/input_sets.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "runtime/drawing/branches.h"
#include "runtime/drawing/input_sets.h"
#include "runtime/drawing/input_source.h"

namespace ruleengine::runtime {

class InputTrials {
 public:
  using Visit = std::function<Result<bool>(const InputSet&)>;
  // Whether outputs are worth a set.
  using Accept = std::function<bool(const Executor::Named&)>;

  InputTrials(const ir::Model& model, ExecutorOptions executor,
              const InputOptions& options, const Visit& visit);

  // False where the model cannot be run at all; `why` says it.
  bool prepare();

  InputSource& source() { return source_; }
  const BranchLog& branches() const { return log_; }
  std::size_t sets() const { return sets_; }
  const std::string& why() const { return why_; }
  // No more sets: the caller has enough, or the time has passed.
  bool is_over() const;
  // Of memory, where a set met it.
  const std::optional<Diagnostic>& limit() const { return limit_; }

  // Whether the model ran on inputs that are drawn so, with the widest whole
  // numbers from `how.integers` on that it runs with.
  Result<bool> run(const SizeOf& sizes, Drawn how, std::string_view kind,
                   const Accept& accept = nullptr);

 private:
  using Clock = std::chrono::steady_clock;

  bool broadcasts(const SizeOf& sizes);
  Result<bool> run_once(const SizeOf& sizes, const Drawn& how,
                        std::string_view kind, const Accept& accept,
                        bool& is_done);
  bool is_slow(Clock::duration took);
  Status hand_on(InputSet set);
  // Runs the model on harmless inputs for what InputSource::open asks.
  void learn(const SizeOf& sizes);

  const ir::Model& model_;
  ExecutorOptions executor_options_;
  std::shared_ptr<HostMemory> memory_;  // of the inputs
  const InputOptions& options_;
  const Visit& visit_;
  InputSource source_;
  std::unique_ptr<Executor> executor_;
  BranchLog log_;
  Clock::time_point end_;
  std::optional<Clock::duration> first_took_;
  std::size_t sets_ = 0, tries_ = 0, bytes_ = 0;
  bool is_enough_ = false, is_late_ = false;
  std::optional<Diagnostic> limit_;
  std::string why_;
  std::set<std::uint64_t> ran_, failed_;  // inputs, by their bytes
  std::optional<SizeOf> learned_at_;
};

}  // namespace ruleengine::runtime
