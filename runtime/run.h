// What a run has for all of its nodes, and what it gives to each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/memory.h"
#include "runtime/tensor.h"
#include "runtime/threads.h"

namespace ruleengine::runtime {

class TensorArena;
class Communicator;
class NoiseSource;

using DrawnCounts = std::map<std::string, std::uint64_t, std::less<>>;

struct KernelRun {
  std::shared_ptr<HostMemory> memory;
  TensorArena* arena = nullptr;  // of a model that runs often
  Threads* threads = nullptr;
  std::uint64_t seed = 0;  // of ops that draw numbers
  // How often the node that makes a value of this name drew numbers. By names,
  // so that a node draws the same whatever else a model draws.
  DrawnCounts drawn;
  // Nodes of other names draw other numbers than the seed says; nullptr: none.
  const DrawnCounts* alike = nullptr;
  Communicator* communicator = nullptr;  // of a run with other ranks
  bool wide = false;                     // floats are doubles
  NoiseSource* noise = nullptr;          // of a wide run; may be nullptr
  // Fail on values for which runtimes give different results.
  bool agreed_only = false;
  bool arranges_weights = false;  // Preparation::arranges_weights
};

// A tensor in `place`, or in the memory of the run: its elements are not
// initialized, but strings are empty.
Tensor allocate(KernelRun& run, DataType dtype, Shape dims,
                DeviceMemory* place = nullptr);
// The axes of a block that is copied between places with these strides: the
// longest steps in what is written first, without those of one element, and
// joined where one goes on in the next on both sides. There is at least one.
std::vector<StridedAxis> joined_axes(Shape dims, Shape from, Shape to);
// A view as a dense tensor; itself where it is one.
Tensor compact(const Tensor& t, KernelRun& run);
// The tensor in another memory (nullptr: that of the run); itself where it is
// there. A copy waits for what computes the tensor.
Tensor moved(const Tensor& t, KernelRun& run, DeviceMemory* place);

class RunContext {
 public:
  // `place`: where tensors are allocated; nullptr: in the memory of the run.
  explicit RunContext(KernelRun& run, DeviceMemory* place = nullptr)
      : run_(run), place_(place) {}

  KernelRun& run() const { return run_; }
  Threads& threads() const { return *run_.threads; }
  Tensor allocate(DataType dtype, Shape dims) const {
    return runtime::allocate(run_, dtype, dims, place_);
  }

 protected:
  KernelRun& run_;
  DeviceMemory* place_;
};

}  // namespace ruleengine::runtime
