// `ruleengine bench MODEL [--against MODEL]`: bindings/api/bench.h as tables.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "bindings/api/bench.h"
#include "bindings/api/files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/engine/json.h"

namespace ruleengine::cli {
namespace {

using engine::Json;

constexpr std::size_t kMostOps = 12;  // in the table

void print(const api::Measured& s) {
  constexpr double kMiB = 1 << 20;
  const Spread t = quartiles(s.seconds);
  const auto rounds = static_cast<double>(s.seconds.size());
  show("{}: {:.3f} ms (half of {} runs: {:.3f} to {:.3f})\n",
       printable(s.model), t.median * 1e3, s.seconds.size(), t.low * 1e3,
       t.high * 1e3);
  show("memory: {:.2f} MiB of tensors at once, {:.2f} MiB taken for them\n",
       static_cast<double>(s.peak_bytes) / kMiB,
       static_cast<double>(s.held_bytes) / kMiB);
  std::vector<std::vector<std::string>> rows = {{"op", "calls", "ms", "share"}};
  const auto add = [&](const api::OpCost& cost) {
    rows.push_back(
        {cost.op, fmt::format("{:g}", static_cast<double>(cost.calls) / rounds),
         fmt::format("{:.3f}", cost.median() * 1e3),
         fmt::format("{:.1f} %", cost.median() / t.median * 100)});
  };
  api::OpCost rest{.op = "others",
                   .seconds = std::vector<double>(s.seconds.size())};
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    const api::OpCost& cost = s.ops[i];
    if (i < kMostOps) {
      add(cost);
      continue;
    }
    rest.calls += cost.calls;
    std::ranges::transform(rest.seconds, cost.seconds, rest.seconds.begin(),
                           std::plus());
  }
  if (rest.calls > 0) add(rest);
  put(table(rows));
}

Json json_of(const api::Measured& s) {
  const auto rounds = static_cast<double>(s.seconds.size());
  Json ops = Json::array();
  for (const api::OpCost& cost : s.ops) {
    ops.push_back({{"op", engine::exact(cost.op)},
                   {"calls", static_cast<double>(cost.calls) / rounds},
                   {"ms", cost.median() * 1e3}});
  }
  return {{"model", engine::exact(s.model)},
          {"rounds", s.seconds.size()},
          {"ms", engine::to_json(quartiles(s.seconds), 1e3)},
          {"peak_bytes", s.peak_bytes},
          {"held_bytes", s.held_bytes},
          {"ops", std::move(ops)}};
}

void print_all(const api::BenchResult& found, bool as_json) {
  if (as_json) {
    Json json = json_of(found.models[0]);
    if (found.ratio) {
      json["against"] = json_of(found.models[1]);
      json["ratio"] = engine::to_json(*found.ratio);
    }
    return put(engine::json_text(json));
  }
  for (const api::Measured& each : found.models) {
    print(each);
    if (found.ratio) put("\n");
  }
  if (found.ratio) {
    show("ratio: {:.3f} ({:.3f} to {:.3f} with 95 % confidence)\n",
         found.ratio->median, found.ratio->low, found.ratio->high);
  }
}

int bench(const Options& options) {
  auto paths = sort_paths(options, Wants::kModels);
  if (!paths) return fail(paths.error());
  if (paths->models.size() != 1) {
    return fail(
        {ErrorKind::kUsage, "expected one model", "", "", "", options.example});
  }
  if (!options.against.empty()) paths->models.push_back(options.against);
  auto how = execution_options(options);
  if (!how) return fail(how.error());
  const auto found =
      api::bench(paths->models, {.how = *std::move(how),
                                 .rounds = options.rounds,
                                 .traces = !options.profile.empty(),
                                 .warn = warn});
  if (!found) return fail(found.error());
  if (!options.profile.empty()) {
    auto status = api::write_file(options.profile, found->trace);
    if (!status) return fail(status.error());
  }
  print_all(*found, options.json);
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
