// `ruleengine bench MODEL [--against MODEL]`: how long a model runs on the CPU,
// in which ops, and with how much memory. Two models run in turn on the same
// inputs, so that whatever slows the machine slows both.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "bindings/cli/execution.h"
#include "bindings/cli/profile.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/base/sample.h"
#include "core/engine/json.h"
#include "runtime/executor.h"

namespace ruleengine::cli {
namespace {

using Clock = std::chrono::steady_clock;
using engine::Json;
using runtime::NamedData;

// Without --rounds: as many as this time allows, within these bounds.
constexpr double kSeconds = 5;
constexpr std::size_t kLeastRounds = 7, kMostRounds = 1000;
constexpr int kWarmUps = 2;
constexpr std::size_t kMostOps = 12;  // in the table

// The calls of an op in all rounds, and its seconds in each.
struct OpCost {
  std::size_t calls = 0;
  std::vector<double> seconds;

  double median() const { return quartiles(seconds).median; }
};

// A model that is measured.
struct Subject {
  std::string path;
  std::unique_ptr<ir::Model> model;
  Profile profile;  // of its last run
  std::unique_ptr<runtime::Executor> executor;
  std::vector<double> seconds;        // of each round
  std::map<std::string, OpCost> ops;  // of all rounds
};

Status prepare(Subject& subject, const Options& options) {
  auto model = load_model(subject.path, options);
  if (!model) return model.error();
  subject.model = *std::move(model);
  runtime::ExecutorOptions how = executor_options(options);
  how.trace = subject.profile.trace();
  auto executor = runtime::Executor::create(*subject.model, std::move(how));
  if (!executor) return executor.error();
  subject.executor = *std::move(executor);
  return {};
}

Result<NamedData> inputs_of(Subject& subject, const Options& options) {
  if (!options.inputs.empty()) return read_inputs(*subject.model, options);
  return draw_inputs(*subject.executor, *subject.model, options);
}

// One run; its seconds.
Result<double> time_run(Subject& subject, const NamedData& inputs) {
  subject.profile.clear();
  const auto begin = Clock::now();
  const auto outputs = subject.executor->run(inputs);
  const std::chrono::duration<double> taken = Clock::now() - begin;
  if (outputs) return taken.count();
  Diagnostic error = outputs.error();
  if (error.where.empty()) error.where = subject.path;
  return error;
}

Status measure(Subject& subject, const NamedData& inputs) {
  const auto seconds = time_run(subject, inputs);
  if (!seconds) return seconds.error();
  subject.seconds.push_back(*seconds);
  for (const Profile::Event& e : subject.profile.events()) {
    OpCost& cost = subject.ops[e.graph->op(e.node).text()];
    cost.seconds.resize(subject.seconds.size());
    cost.seconds.back() += e.own;
    ++cost.calls;
  }
  for (auto& [op, cost] : subject.ops)
    cost.seconds.resize(subject.seconds.size());
  return {};
}

// All subjects in turn, each first as often as another.
Status measure_all(std::vector<Subject>& subjects, const NamedData& inputs,
                   const Options& options) {
  for (Subject& each : subjects) {
    for (int i = 0; i < kWarmUps; ++i) {
      const auto seconds = time_run(each, inputs);
      if (!seconds) return seconds.error();
    }
  }
  const auto begin = Clock::now();
  const auto goes_on = [&](std::size_t round) {
    if (options.rounds > 0) return round < options.rounds;
    const std::chrono::duration<double> taken = Clock::now() - begin;
    return round < kLeastRounds ||
           (round < kMostRounds && taken.count() < kSeconds);
  };
  for (std::size_t round = 0; goes_on(round); ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      auto status = measure(subjects[(round + i) % subjects.size()], inputs);
      if (!status) return status;
    }
  }
  return {};
}

std::vector<double> ratios(const Subject& a, const Subject& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.seconds.size(); ++i) {
    out.push_back(a.seconds[i] / b.seconds[i]);
  }
  return out;
}

// The ops by their time, the slowest first.
std::vector<std::pair<std::string, OpCost>> sorted_ops(const Subject& s) {
  std::vector<std::pair<std::string, OpCost>> out(s.ops.begin(), s.ops.end());
  std::ranges::stable_sort(out, std::ranges::greater(), [](const auto& each) {
    return each.second.median();
  });
  return out;
}

void print(const Subject& s) {
  constexpr double kMiB = 1 << 20;
  const Spread t = quartiles(s.seconds);
  const auto rounds = static_cast<double>(s.seconds.size());
  show("{}: {:.3f} ms (half of {} runs: {:.3f} to {:.3f})\n", printable(s.path),
       t.median * 1e3, s.seconds.size(), t.low * 1e3, t.high * 1e3);
  show("memory: {:.2f} MiB of tensors at once, {:.2f} MiB taken for them\n",
       static_cast<double>(s.executor->peak_bytes()) / kMiB,
       static_cast<double>(s.executor->held_bytes()) / kMiB);
  std::vector<std::vector<std::string>> rows = {{"op", "calls", "ms", "share"}};
  const auto add = [&](const std::string& op, const OpCost& cost) {
    rows.push_back(
        {op, fmt::format("{:g}", static_cast<double>(cost.calls) / rounds),
         fmt::format("{:.3f}", cost.median() * 1e3),
         fmt::format("{:.1f} %", cost.median() / t.median * 100)});
  };
  OpCost rest{.seconds = std::vector<double>(s.seconds.size())};
  const auto ops = sorted_ops(s);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto& [op, cost] = ops[i];
    if (i < kMostOps) {
      add(op, cost);
      continue;
    }
    rest.calls += cost.calls;
    std::ranges::transform(rest.seconds, cost.seconds, rest.seconds.begin(),
                           std::plus());
  }
  if (rest.calls > 0) add("others", rest);
  put(table(rows));
}

Json subject_json(const Subject& s) {
  const auto rounds = static_cast<double>(s.seconds.size());
  Json ops = Json::array();
  for (const auto& [op, cost] : sorted_ops(s)) {
    ops.push_back({{"op", engine::exact(op)},
                   {"calls", static_cast<double>(cost.calls) / rounds},
                   {"ms", cost.median() * 1e3}});
  }
  return {{"model", engine::exact(s.path)},
          {"rounds", s.seconds.size()},
          {"ms", engine::to_json(quartiles(s.seconds), 1e3)},
          {"peak_bytes", s.executor->peak_bytes()},
          {"held_bytes", s.executor->held_bytes()},
          {"ops", std::move(ops)}};
}

void print_all(const std::vector<Subject>& subjects, const Options& options) {
  const bool is_pair = subjects.size() == 2;
  const Spread ratio =
      is_pair ? confidence(ratios(subjects[0], subjects[1])) : Spread{};
  if (options.json) {
    Json json = subject_json(subjects[0]);
    if (is_pair) {
      json["against"] = subject_json(subjects[1]);
      json["ratio"] = engine::to_json(ratio);
    }
    return put(engine::json_text(json));
  }
  for (const Subject& each : subjects) {
    print(each);
    if (is_pair) put("\n");
  }
  if (is_pair) {
    show("ratio: {:.3f} ({:.3f} to {:.3f} with 95 % confidence)\n",
         ratio.median, ratio.low, ratio.high);
  }
}

int bench(const Options& options) {
  auto paths = sort_paths(options, Wants::kModels);
  if (!paths) return fail(paths.error());
  if (paths->models.size() != 1) {
    return fail(
        {ErrorKind::kUsage, "expected one model", "", "", "", options.example});
  }
  std::vector<Subject> subjects(options.against.empty() ? 1 : 2);
  subjects[0].path = paths->models[0];
  subjects.back().path =
      options.against.empty() ? paths->models[0] : options.against;
  for (Subject& each : subjects) {
    if (auto status = prepare(each, options); !status) {
      return fail(status.error());
    }
  }
  const auto inputs = inputs_of(subjects[0], options);
  if (!inputs) return fail(inputs.error());
  if (auto status = measure_all(subjects, *inputs, options); !status) {
    return fail(status.error());
  }
  auto status = write_profile(options.profile, subjects[0].profile);
  if (!status) return fail(status.error());
  print_all(subjects, options);
  return 0;
}

}  // namespace

void add_bench(Line& line) {
  Options& o = line.options;
  VerbLine bench =
      line.add(cli::bench, "bench", "measure how long models run on the CPU",
               "ruleengine bench rewritten.onnx --against model.onnx");
  bench.paths("the model");
  add_inputs(bench, o);
  bench.option("--against", o.against,
               "a model to run in turn with it, on the same inputs");
  bench
      .option("--rounds", o.rounds,
              "runs of each model; as many as 5 seconds allow")
      .whole(6, 1'000'000);
  bench.option("--profile", o.profile,
               "a file for the last run as a Chrome trace");
  bench.flag("--json", o.json, "print JSON");
}

}  // namespace ruleengine::cli
