#include "bindings/api/bench.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "bindings/api/models.h"
#include "bindings/api/profile.h"
#include "core/base/json.h"
#include "core/base/stopwatch.h"
#include "runtime/widening.h"

namespace ruleengine::api {
namespace {

// Without a number of rounds: as many as this time allows, within these bounds.
constexpr double kSeconds = 5;
constexpr std::size_t kLeastRounds = 7, kMostRounds = 1000;
// Of the rounds, so many times less are traced, within these bounds.
constexpr std::size_t kTracedOf = 4, kLeastTraced = 5, kMostTraced = 100;

// A model that is measured.
struct Subject {
  std::shared_ptr<const ir::Model> model;
  Profile profile;  // of its last traced run
  std::unique_ptr<runtime::Executor> executor;
  std::map<std::string, OpCost> ops;
  Measured out;
};

Status prepare(Subject& subject, const BenchedModel& given,
               const BenchOptions& options) {
  subject.out.model = given.name;
  subject.model = given.model;
  auto made = executor_options(options.how);
  if (!made) return made.error();
  runtime::ExecutorOptions& how = *made;
  how.runs_often = true;
  auto executor = runtime::Executor::create(*subject.model, std::move(how));
  if (!executor) return executor.error();
  subject.executor = *std::move(executor);
  return {};
}

Diagnostic named(Diagnostic error, const Subject& subject) {
  if (error.where.empty()) error.where = subject.out.model;
  return error;
}

// One run; its seconds.
Result<double> time_run(Subject& subject, const runtime::NamedData& inputs) {
  const Stopwatch watch;
  const auto outputs = subject.executor->run(inputs);
  const double seconds = watch.seconds();
  if (outputs) return seconds;
  return named(outputs.error(), subject);
}

Status measure(Subject& subject, const runtime::NamedData& inputs) {
  const auto seconds = time_run(subject, inputs);
  if (!seconds) return seconds.error();
  subject.out.seconds.push_back(*seconds);
  return {};
}

Status trace_ops(Subject& subject, const runtime::NamedData& inputs) {
  subject.profile.clear();
  subject.executor->trace(subject.profile.trace());
  const auto seconds = time_run(subject, inputs);
  subject.executor->trace({});
  if (!seconds) return seconds.error();
  std::vector<double>& rounds = subject.out.traced;
  rounds.push_back(*seconds);
  for (const Profile::Event& e : subject.profile.events()) {
    OpCost& cost = subject.ops[e.op()];
    cost.seconds.resize(rounds.size());
    cost.seconds.back() += e.own;
    ++cost.calls;
  }
  for (auto& [op, cost] : subject.ops) cost.seconds.resize(rounds.size());
  return {};
}

// All subjects in turn, each first as often as another.
Status measure_all(std::vector<Subject>& subjects,
                   const runtime::NamedData& inputs, std::size_t rounds) {
  for (Subject& each : subjects) {
    if (Status s = each.executor->warm_up(inputs); !s) {
      return named(s.error(), each);
    }
  }
  const Stopwatch watch;
  const auto goes_on = [&](std::size_t round) {
    if (rounds > 0) return round < rounds;
    return round < kLeastRounds ||
           (round < kMostRounds && watch.seconds() < kSeconds);
  };
  const auto in_turn = [&](std::size_t round, auto what) -> Status {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      auto status = what(subjects[(round + i) % subjects.size()], inputs);
      if (!status) return status;
    }
    return {};
  };
  std::size_t round = 0;
  for (; goes_on(round); ++round) {
    if (auto status = in_turn(round, measure); !status) return status;
  }
  const std::size_t traced =
      std::clamp(round / kTracedOf, kLeastTraced, kMostTraced);
  for (std::size_t i = 0; i < traced; ++i) {
    if (auto status = in_turn(i, trace_ops); !status) return status;
  }
  return {};
}

// The results for these inputs with those of the CPU.
Status compare_with_cpu(Subject& subject, const runtime::NamedData& inputs,
                        const ExecutionOptions& how) {
  const auto found = subject.executor->run(inputs);
  if (!found) return named(found.error(), subject);
  ExecutionOptions on_cpu = how;
  on_cpu.device = "cpu";
  auto made = executor_options(on_cpu);
  if (!made) return made.error();
  auto executor = runtime::Executor::create(*subject.model, *std::move(made));
  if (!executor) return executor.error();
  const auto expected = (*executor)->run(inputs);
  if (!expected) return named(expected.error(), subject);
  runtime::Comparison& out = subject.out.compared.emplace();
  if (!how.tolerance) {
    int precision = runtime::Numbers(*subject.model).precision();
    if (how.tf32) {
      precision =
          std::min(precision, runtime::precision_of(ir::DataType::kFloat16));
    }
    out = runtime::compare_by_type(*expected, *found, {}, precision);
    return {};
  }
  if (auto mismatch = runtime::compare_forms(*expected, *found)) {
    out.mismatch = std::move(mismatch);
    return {};
  }
  const auto [abs, rel] = *how.tolerance;
  out = runtime::compare(*expected, *found,
                         [=](std::size_t, std::size_t, double value) {
                           return runtime::relative_bound(value, rel, abs);
                         });
  return {};
}

Measured finished(Subject& subject) {
  Measured out = std::move(subject.out);
  for (auto& [op, cost] : subject.ops) {
    cost.op = op;
    out.ops.push_back(std::move(cost));
  }
  std::ranges::stable_sort(out.ops, std::ranges::greater(), &OpCost::median);
  out.nodes = subject.executor->placing();
  out.is_recorded = subject.executor->is_recorded();
  out.why_not_recorded = subject.executor->why_not_recorded();
  out.peak_bytes = subject.executor->peak_bytes();
  out.held_bytes = subject.executor->held_bytes();
  return out;
}

Spread ratio_of(const Measured& a, const Measured& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.seconds.size(); ++i) {
    ratios.push_back(a.seconds[i] / b.seconds[i]);
  }
  return confidence(ratios);
}

Result<BenchResult> bench_all(const std::vector<BenchedModel>& models,
                              const BenchOptions& options) {
  std::vector<Subject> subjects(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (Status s = prepare(subjects[i], models[i], options); !s) {
      return s.error();
    }
  }
  const auto inputs =
      inputs_for(*subjects[0].executor, *subjects[0].model, options.how);
  if (!inputs) return inputs.error();
  if (Status s = measure_all(subjects, *inputs, options.rounds); !s) {
    return s.error();
  }
  if (options.compares) {
    // On other random inputs than those that were recorded.
    ExecutionOptions other = options.how;
    ++other.seed;
    const auto given =
        inputs_for(*subjects[0].executor, *subjects[0].model, other);
    if (!given) return given.error();
    for (Subject& each : subjects) {
      Status s = compare_with_cpu(each, *given, options.how);
      if (!s) return s.error();
    }
  }
  BenchResult out;
  if (options.traces) out.trace = subjects[0].profile.chrome_trace();
  for (Subject& each : subjects) out.models.push_back(finished(each));
  if (out.models.size() == 2) {
    out.ratio = ratio_of(out.models[0], out.models[1]);
  }
  return out;
}

Json json_of(const Measured& s) {
  const auto rounds = static_cast<double>(s.traced.size());
  Json ops = Json::array();
  for (const OpCost& cost : s.ops) {
    ops.push_back({{"op", engine::exact(cost.op)},
                   {"calls", static_cast<double>(cost.calls) / rounds},
                   {"ms", cost.median() * 1e3}});
  }
  Json nodes = Json::object();
  for (const auto& [backend, counts] : s.nodes) {
    Json& on = nodes[backend] = Json::object();
    for (const auto& [op, count] : counts) on[engine::exact(op)] = count;
  }
  Json compared;
  if (s.compared) {
    compared = {{"max_abs", s.compared->max_abs},
                {"max_rel", s.compared->max_rel},
                {"differs", nullptr}};
    const auto& mismatch = s.compared->mismatch;
    if (mismatch) {
      compared["differs"] =
          engine::exact(mismatch->output + ": " + mismatch->text);
    }
  }
  return {{"model", engine::exact(s.model)},
          {"rounds", s.seconds.size()},
          {"ms", engine::to_json(quartiles(s.seconds), 1e3)},
          {"traced", engine::to_json(quartiles(s.traced), 1e3)},
          {"nodes", std::move(nodes)},
          {"recorded", s.is_recorded},
          {"why_not_recorded", engine::exact(s.why_not_recorded)},
          {"compared", std::move(compared)},
          {"peak_bytes", s.peak_bytes},
          {"held_bytes", s.held_bytes},
          {"ops", std::move(ops)}};
}

}  // namespace

// Figures are of one device: where the CPU takes over, it measures all anew.
Result<BenchResult> bench(const std::vector<BenchedModel>& models,
                          const BenchOptions& options) {
  BenchOptions on = options;
  return on_device(on.how, [&] { return bench_all(models, on); });
}

Result<BenchResult> bench(const std::vector<std::string>& models,
                          const BenchOptions& options) {
  std::vector<BenchedModel> loaded;
  for (const std::string& path : models) {
    auto model =
        load_model(path, {.limits = options.how.limits, .warn = options.warn});
    if (!model) return model.error();
    loaded.push_back({path, *std::move(model)});
  }
  return bench(loaded, options);
}

Json to_json(const BenchResult& found) {
  Json json = json_of(found.models[0]);
  if (found.ratio) {
    json["against"] = json_of(found.models[1]);
    json["ratio"] = engine::to_json(*found.ratio);
  }
  return json;
}

}  // namespace ruleengine::api
