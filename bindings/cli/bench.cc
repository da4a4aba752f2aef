// `ruleengine bench MODEL [--against MODEL]`: bindings/api/bench.h as tables.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include "bindings/api/bench.h"
#include "bindings/api/files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct BenchFlags : Flags {
  InputFlags in;
  std::string against;     // a model
  std::size_t rounds = 0;  // 0: as many as time allows
  std::string profile;     // a file
  bool json = false;
};

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

void print_all(const api::BenchResult& found) {
  for (const api::Measured& each : found.models) {
    print(each);
    if (found.ratio) put("\n");
  }
  if (found.ratio) {
    show("ratio: {:.3f} ({:.3f} to {:.3f} with 95 % confidence)\n",
         found.ratio->median, found.ratio->low, found.ratio->high);
  }
}

int bench(const BenchFlags& flags) {
  auto paths = sort_paths(flags, Wants::kModels);
  if (!paths) return fail(paths.error());
  if (paths->models.size() != 1) {
    return fail(
        {ErrorKind::kUsage, "expected one model", "", "", "", flags.example});
  }
  if (!flags.against.empty()) paths->models.push_back(flags.against);
  auto how = execution_options(flags, flags.in);
  if (!how) return fail(how.error());
  const auto found =
      api::bench(paths->models, {.how = *std::move(how),
                                 .rounds = flags.rounds,
                                 .traces = !flags.profile.empty(),
                                 .warn = warn});
  if (!found) return fail(found.error());
  if (!flags.profile.empty()) {
    auto status = api::write_file(flags.profile, found->trace);
    if (!status) return fail(status.error());
  }
  if (flags.json) {
    put(engine::json_text(api::to_json(*found)));
  } else {
    print_all(*found);
  }
  return 0;
}

}  // namespace

void add_bench(Line& line) {
  auto [bench, flags] =
      line.add(cli::bench, "bench", "measure how long models run",
               "ruleengine bench rewritten.onnx --against model.onnx");
  bench.paths("MODEL", flags, "the model");
  bench.inputs(flags, flags.in);
  bench.device(flags.in);
  bench
      .option("--against", flags.against,
              "a model to run in turn with it, on the same inputs")
      .takes("MODEL");
  bench
      .option("--rounds", flags.rounds,
              "runs of each model; as many as 5 seconds allow")
      .whole(6, 1'000'000);
  bench
      .option("--profile", flags.profile,
              "a file for the last run as a Chrome trace")
      .takes("FILE.json");
  bench.flag("--json", flags.json, "print JSON");
}

}  // namespace ruleengine::cli
