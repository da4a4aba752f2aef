// Ops that run subgraphs.
#include <algorithm>
#include <limits>

#include "core/ir/graph.h"
#include "kernels/cpu/control/bodies.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

void if_else(KernelContext& c) {
  const std::string_view branch =
      truth(c.value(0)) ? "then_branch" : "else_branch";
  std::vector<Datum> results = c.run_block(branch, {});
  if (results.size() < c.node().output_count()) {
    fail("a branch has fewer outputs than the node",
         std::to_string(c.node().output_count()),
         std::to_string(results.size()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    c.set_output(i, std::move(results[i]));
  }
}

// The subgraph of a Loop, and how its outputs are shared out.
struct LoopBody {
  const ir::Block& block;
  std::size_t carried = 0, stacked = 0;
};

LoopBody loop_body(const KernelContext& c) {
  LoopBody out{body_of(c, "body")};
  out.carried = std::max<std::size_t>(c.input_count(), 2) - 2;
  if (out.block.inputs.size() != out.carried + 2 ||
      out.block.outputs.size() < out.carried + 1) {
    fail("the body does not fit the values that are carried",
         std::to_string(out.carried) + " values",
         std::to_string(out.block.inputs.size()) + " inputs and " +
             std::to_string(out.block.outputs.size()) + " outputs");
  }
  out.stacked = out.block.outputs.size() - 1 - out.carried;
  return out;
}

void loop(KernelContext& c) {
  const LoopBody body = loop_body(c);
  const std::int64_t rounds = c.has_input(0)
                                  ? c.scalar_int(0)
                                  : std::numeric_limits<std::int64_t>::max();
  Datum go = c.has_input(1) ? c.value(1) : Datum(scalar(c, true));
  std::vector<Datum> carried;
  for (std::size_t i = 0; i < body.carried; ++i) {
    carried.push_back(c.has_input(i + 2) ? c.value(i + 2) : Datum());
  }
  std::vector<Stack> stacks(body.stacked);
  for (std::int64_t round = 0; round < rounds && truth(go); ++round) {
    // A body without nodes never asks.
    c.threads().look();
    std::vector<Datum> inputs;
    inputs.emplace_back(scalar(c, round));
    inputs.push_back(std::move(go));
    std::ranges::move(carried, std::back_inserter(inputs));
    std::vector<Datum> results = c.run_block("body", std::move(inputs));
    go = std::move(results[0]);
    for (std::size_t i = 0; i < body.carried; ++i) {
      carried[i] = std::move(results[i + 1]);
    }
    for (std::size_t i = 0; i < body.stacked; ++i) {
      stacks[i].push(c, tensor_of(results[1 + body.carried + i]));
    }
  }
  for (std::size_t i = 0; i < body.carried; ++i) {
    c.set_output(i, std::move(carried[i]));
  }
  for (std::size_t i = 0; i < body.stacked; ++i) {
    const std::size_t out = body.carried + i;
    if (!c.wants(out)) continue;
    c.set_output(out, stacks[i].empty()
                          ? never_computed(c, body.block, out + 1, 0)
                          : stacks[i].take(c));
  }
}

constexpr Kernel kControlKernels[] = {
    {"", "If", if_else},
    {"", "Loop", loop},
    {"", "Scan", scan},
    {"", "Scan-8", scan_8},
};

}  // namespace

const KernelRows kControlRows = kControlKernels;

}  // namespace ruleengine::kernels
