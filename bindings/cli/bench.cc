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
  bool compares = false;
};

constexpr std::size_t kMostOps = 12;  // in the table

// Where several can compute: how many nodes each does, and what the last one,
// the CPU, is left.
void print_placing(const api::Measured& s) {
  if (s.nodes.size() < 2) return;
  std::vector<std::string> parts;
  for (const auto& [backend, ops] : s.nodes) {
    std::size_t count = 0;
    for (const auto& [op, nodes] : ops) count += nodes;
    parts.push_back(fmt::format("{} on {}", count, backend));
  }
  std::vector<std::string> left;
  for (const auto& [op, nodes] : s.nodes.back().second) left.push_back(op);
  show("nodes: {}{}{}\n", fmt::join(parts, ", "),
       left.empty() ? ""
                    : printable(fmt::format(" ({})", fmt::join(left, ", "))),
       s.is_recorded ? "; a run is one launch" : "");
  if (!s.why_not_recorded.empty()) {
    show("not one launch: {}\n", printable(s.why_not_recorded));
  }
}

void print(const api::Measured& s) {
  constexpr double kMiB = 1 << 20;
  const Spread t = quartiles(s.seconds);
  const auto rounds = static_cast<double>(s.traced.size());
  const double whole = quartiles(s.traced).median;
  show("{}: {:.3f} ms (half of {} runs: {:.3f} to {:.3f})\n",
       printable(s.model), t.median * 1e3, s.seconds.size(), t.low * 1e3,
       t.high * 1e3);
  show("memory: {:.2f} MiB of tensors at once, {:.2f} MiB taken for them\n",
       static_cast<double>(s.peak_bytes) / kMiB,
       static_cast<double>(s.held_bytes) / kMiB);
  print_placing(s);
  if (s.compared && !s.compared->mismatch) {
    show("as on the CPU: off by {:.3g} at most, {:.3g} of the largest\n",
         s.compared->max_abs, s.compared->max_rel);
  }
  std::vector<std::vector<std::string>> rows = {{"op", "calls", "ms", "share"}};
  const auto add = [&](const api::OpCost& cost) {
    rows.push_back(
        {cost.op, fmt::format("{:g}", static_cast<double>(cost.calls) / rounds),
         fmt::format("{:.3f}", cost.median() * 1e3),
         fmt::format("{:.1f} %", cost.median() / whole * 100)});
  };
  api::OpCost rest{.op = "others",
                   .seconds = std::vector<double>(s.traced.size())};
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
  auto models = sort_paths(flags, Wants::kModels).models;
  if (models.size() != 1) {
    throw misuse("expected one model", "", "", flags.example);
  }
  if (!flags.against.empty()) models.push_back(flags.against);
  const auto found =
      take(api::bench(models, {.how = execution_options(flags, flags.in),
                               .rounds = flags.rounds,
                               .compares = flags.compares,
                               .traces = !flags.profile.empty(),
                               .warn = warn}));
  if (!flags.profile.empty()) {
    check(api::write_file(flags.profile, found.trace));
  }
  if (flags.json) {
    put(engine::json_text(api::to_json(found)));
  } else {
    print_all(found);
  }
  for (const api::Measured& each : found.models) {
    if (!each.compared || !each.compared->mismatch) continue;
    throw api::Failure({.kind = ErrorKind::kVerify,
                        .what = "the model gives other results than on the CPU",
                        .where = each.model,
                        .found = "output '" +
                                 printable(each.compared->mismatch->output) +
                                 "', " + each.compared->mismatch->text});
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
              "a file for the last traced run as a Chrome trace")
      .takes("FILE.json");
  bench.flag("--compare", flags.compares,
             "also compare the outputs with those of the CPU");
  bench.tolerance(flags.in.tolerance);
  bench.flag("--json", flags.json, "print JSON");
}

}  // namespace ruleengine::cli
