// Work of a stream as a graph of CUDA, which one call launches.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cuda/memory.h"

namespace ruleengine::runtime::cuda {

class GraphRecording final : public Recording {
 public:
  // Owns the graph, also where it throws Failure. `check`: called after each
  // replay.
  GraphRecording(std::shared_ptr<Stream> stream, CUgraph graph,
                 std::unique_ptr<CudaMemory::Tape> tape,
                 std::function<void()> check);
  ~GraphRecording() override;
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  std::vector<std::byte*> places_of(const std::byte* from) const override;
  void replay(std::span<const std::span<std::byte>> outputs) override;

 private:
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<CudaMemory::Tape> tape_;
  std::function<void()> check_;
  CUgraphExec graph_ = nullptr;
};

}  // namespace ruleengine::runtime::cuda
