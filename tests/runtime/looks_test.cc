// A deadline inside each kernel: with a quarter of a million elements to
// compute, a kernel looks whether the run has ended.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <set>
#include <string>

#include "core/text/parse.h"
#include "kernels/cpu.h"
#include "runtime/executor.h"
#include "runtime/random_inputs.h"
#include "tests/runtime/looks_cases.h"
#include "tests/support/tier.h"

namespace ruleengine::runtime {
namespace {

std::string domain_of(const std::string& op) {
  const auto dot = op.rfind('.');
  return dot == op.npos ? "" : op.substr(0, dot);
}

std::unique_ptr<ir::Model> model_of(const Case& each) {
  std::string imports = "\"\" : " + std::to_string(each.opset);
  const std::string domain = domain_of(each.op);
  if (!domain.empty()) {
    imports += ", \"" + domain + "\" : " + (domain == "ai.onnx.ml" ? "5" : "1");
  }
  std::string text = "<ir_version: 10, opset_import: [" + imports + "]> g (" +
                     each.inputs + ") => (float y)";
  if (!each.constants.empty()) text += " <" + each.constants + ">";
  text += " { " + each.before + " " + each.outputs + " = " + each.op + " " +
          each.arguments + " }";
  auto parsed = text::parse_model(text);
  REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()), text);
  return *std::move(parsed);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

// How often a run checked, and the CPU time in total and between checks.
struct Looks {
  int count = 0;
  double all = 0, longest = 0;
};

// The run ends after `most` checks, with this error.
Looks looks_of(const ir::Model& model, int most, std::string& error) {
  Looks out;
  double begin = 0, last = 0;
  ExecutorOptions options;
  options.backends = {&kernels::cpu()};
  options.threads = 1;
  options.is_cancelled = [&] {
    const double now = cpu_seconds();
    if (out.count++ == 0) begin = last = now;
    out.longest = std::max(out.longest, now - last);
    last = now;
    return out.count > most;
  };
  auto executor = Executor::create(model, std::move(options));
  REQUIRE_MESSAGE(executor.ok(), (executor ? "" : executor.error().text()));
  const auto inputs =
      random_inputs(model, {.integers = Integers::kBits}, HostMemory::create());
  REQUIRE_MESSAGE(inputs.ok(), (inputs ? "" : inputs.error().text()));
  const auto results = (*executor)->run(*inputs);
  error = results ? "" : results.error().what;
  const double end = cpu_seconds();
  out.longest = std::max(out.longest, end - last);
  out.all = end - begin;
  return out;
}

TEST_CASE("each kernel checks whether the run has ended") {
  constexpr int kLeast = 2;  // in addition to those before nodes
  // Seconds; else half of the kernel's time.
#ifdef __SANITIZE_ADDRESS__
  constexpr double kShort = 0.05;
#else
  constexpr double kShort = 0.008;
#endif
  std::set<std::string> known;
  for (const ir::Op& op : kernels::cpu_ops()) {
    const std::string domain(op.domain), type(op.type);
    known.insert(domain.empty() ? type : domain + "." + type);
  }
  std::set<std::string> left = known;
  std::size_t cases = 0;
  for (const Case& each : looks_cases()) {
    CAPTURE(each.op);
    CHECK(known.contains(each.op));
    left.erase(each.op);
    if (!has_turn(cases++, 3)) continue;
    const auto model = model_of(each);
    const int before = each.before.empty() ? 1 : 2;
    std::string error;
    const Looks found =
        looks_of(*model, std::numeric_limits<int>::max(), error);
    CHECK(error == "");
    CHECK(found.count >= before + kLeast);
    CHECK(found.longest <= std::max(kShort, found.all / 2));
    CHECK(looks_of(*model, before + 1, error).count == before + 2);
    CHECK(error == "the run was ended");
  }
  for (const auto& ops : {kNoWork, kBodies, kRanks}) {
    for (const std::string& op : ops) CHECK_MESSAGE(left.erase(op) == 1, op);
  }
  std::string all;
  for (const std::string& op : left) all += op + " ";
  CHECK(all == "");
}

}  // namespace
}  // namespace ruleengine::runtime
