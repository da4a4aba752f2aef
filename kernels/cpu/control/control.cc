// Ops that run subgraphs.
#include <algorithm>
#include <limits>

#include "core/ir/graph.h"
#include "kernels/cpu/control/bodies.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

Op if_else(const Preparation& p) {
  return [yes = p.block("then_branch"), no = p.block("else_branch"),
          outputs = p.node().output_count()](Call& c) {
    std::vector<Datum> results = c.run_block(truth(c.value(0)) ? yes : no, {});
    if (results.size() < outputs) {
      fail("a branch has fewer outputs than the node", std::to_string(outputs),
           std::to_string(results.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      c.set_output(i, std::move(results[i]));
    }
  };
}

// The subgraph of a Loop, and how its outputs are shared out.
struct LoopBody : Body {
  explicit LoopBody(const Preparation& p)
      : Body(p, "body"),
        carried(std::max<std::size_t>(p.node().input_count(), 2) - 2) {
    if (inputs != carried + 2 || outputs.size() < carried + 1) {
      fail("the body does not fit the values that are carried",
           std::to_string(carried) + " values",
           std::to_string(inputs) + " inputs and " +
               std::to_string(outputs.size()) + " outputs");
    }
    stacked = outputs.size() - 1 - carried;
  }

  std::size_t carried, stacked;
};

void loop(Call& c, const LoopBody& body) {
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
    std::vector<Datum> results = c.run_block(body.block, std::move(inputs));
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
    c.set_output(out, stacks[i].empty() ? never_computed(c, body, out + 1, 0)
                                        : stacks[i].take(c));
  }
}

}  // namespace

const KernelRows kControlRows = {
    {"", "If", if_else},
    {"", "Loop", keeping<loop, kept<LoopBody>>},
    {"", "Scan", scan},
    {"", "Scan-8", scan_8},
};

}  // namespace ruleengine::kernels
