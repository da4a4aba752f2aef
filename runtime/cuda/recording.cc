#include "runtime/cuda/recording.h"

#include <algorithm>

namespace ruleengine::runtime::cuda {

GraphRecording::GraphRecording(std::shared_ptr<Stream> stream, CUgraph graph,
                               std::unique_ptr<CudaMemory::Tape> tape,
                               std::function<void()> check)
    : stream_(std::move(stream)),
      tape_(std::move(tape)),
      check_(std::move(check)) {
  const Driver& driver = stream_->driver();
  const CUresult status = driver.cuGraphInstantiate(&graph_, graph, 0);
  driver.cuGraphDestroy(graph);
  stream_->check(status, "to prepare recorded work");
}

GraphRecording::~GraphRecording() {
  const CurrentAtEnd current(stream_->device());
  stream_->driver().cuGraphExecDestroy(graph_);
  tape_ = nullptr;
}

std::vector<std::byte*> GraphRecording::places_of(const std::byte* from) const {
  std::vector<std::byte*> out;
  for (const auto& [source, place] : tape_->writes) {
    if (source == from) out.push_back(place);
  }
  return out;
}

void GraphRecording::replay(std::span<const std::span<std::byte>> outputs) {
  const Current current(stream_->device());
  stream_->check(stream_->driver().cuGraphLaunch(graph_, stream_->add()),
                 "to launch recorded work");
  stream_->wait();
  check_();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::ranges::copy(tape_->reads[i], outputs[i].begin());
  }
}

}  // namespace ruleengine::runtime::cuda
