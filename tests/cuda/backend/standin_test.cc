// That the stand-in for the driver finds what a backend may do wrong.
#include <doctest/doctest.h>

#include <string>

#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"
#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

namespace cuda = runtime::cuda;

// A context with two streams, and a block of device memory.
struct Bench {
  Bench() {
    driver.cuMemAlloc(&block, kBytes);
    standin::driver().misuse.clear();
  }
  ~Bench() {
    if (block != 0) driver.cuMemFree(block);
  }
  void copy_in(CUstream stream) {
    driver.cuMemcpyHtoDAsync(block, host.data(), kBytes, stream);
  }
  void copy_out(CUstream stream) {
    driver.cuMemcpyDtoHAsync(host.data(), block, kBytes, stream);
  }
  // The work as a graph that was captured.
  CUgraphExec graph_of(cuda::Stream& stream) {
    stream.begin_capture();
    copy_in(stream.add());
    CUgraph graph = stream.end_capture();
    CUgraphExec out = nullptr;
    driver.cuGraphInstantiate(&out, graph, 0);
    driver.cuGraphDestroy(graph);
    return out;
  }

  static constexpr std::size_t kBytes = 256;
  const cuda::Driver& driver = **cuda::Driver::load();
  std::shared_ptr<const cuda::Device> device = cuda::Device::open(driver);
  cuda::Current current{*device};
  cuda::Stream one{device}, two{device};
  cuda::Pinned host{device, kBytes};
  CUdeviceptr block = 0;
};

TEST_CASE("what is read before the device is done is not there yet") {
  Bench b;
  b.host.data()[0] = std::byte{1};
  b.copy_in(b.one.add());
  b.one.wait();
  b.host.data()[0] = std::byte{2};
  b.copy_out(b.one.add());
  CHECK(b.host.data()[0] == std::byte{2});
  b.one.wait();
  CHECK(b.host.data()[0] == std::byte{1});
  CHECK(misuse() == "");
}

TEST_CASE("a graph on memory that was freed is misuse") {
  Bench b;
  CUgraphExec graph = b.graph_of(b.one);
  b.driver.cuMemFree(std::exchange(b.block, 0));
  b.driver.cuGraphLaunch(graph, b.one.add());
  b.one.wait();
  CHECK(misuse() == "a copy to the device uses memory that was freed\n");
  b.driver.cuGraphExecDestroy(graph);
}

TEST_CASE("what a recording does not allow breaks it") {
  Bench b;
  void* pinned = nullptr;
  b.driver.cuMemHostAlloc(&pinned, 1, 0);
  CUgraphExec graph = b.graph_of(b.one);
  const auto breaks = [&](const auto& call) {
    b.one.begin_capture();
    CHECK(call() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph made = nullptr;
    CHECK(b.driver.cuStreamEndCapture(b.one.add(), &made) ==
          CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  };
  CUdeviceptr more = 0;
  breaks([&] { return b.driver.cuMemAlloc(&more, 1); });
  breaks([&] { return b.driver.cuMemFree(b.block); });
  breaks([&] { return b.driver.cuMemFreeHost(pinned); });
  breaks([&] { return b.driver.cuGraphExecDestroy(graph); });
  CHECK(b.driver.cuMemFreeHost(pinned) == CUDA_SUCCESS);
  CHECK(b.driver.cuGraphExecDestroy(graph) == CUDA_SUCCESS);
  CHECK(misuse() == "");
}

TEST_CASE("two graphs that use the same memory at once are misuse") {
  Bench b;
  CUgraphExec graphs[] = {b.graph_of(b.one), b.graph_of(b.two)};
  b.driver.cuGraphLaunch(graphs[0], b.one.add());
  b.one.wait();
  b.driver.cuGraphLaunch(graphs[1], b.two.add());
  CHECK(misuse() == "");
  b.driver.cuGraphLaunch(graphs[0], b.one.add());
  CHECK(misuse() ==
        "a copy to the device and a copy to the device use the same memory on "
        "two streams at once\n");
  b.one.wait();
  b.two.wait();
  for (CUgraphExec each : graphs) b.driver.cuGraphExecDestroy(each);
}

}  // namespace
}  // namespace ruleengine::kernels
