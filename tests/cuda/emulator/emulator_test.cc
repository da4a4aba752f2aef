#include "tests/cuda/emulator/emulator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cuda/emulator/faults.h"

namespace ruleengine::emulator {
namespace {

constexpr unsigned kThreads = 96;
constexpr Order kOrders[] = {Order::kForward, Order::kReverse, Order::kRandom};

struct Planted {
  std::vector<float> in = std::vector<float>(kThreads + 8);
  std::vector<float> out = std::vector<float>(kThreads);

  void run(const char* name, Order order, std::size_t shared = 0) {
    std::iota(in.begin(), in.end(), 1.0f);
    const FaultArgs args{in.data(), out.data()};
    const Kernel* kernel = find_kernel(name);
    REQUIRE(kernel != nullptr);
    launch(*kernel,
           {.grid = {2},
            .block = {kThreads},
            .shared_bytes = shared,
            .order = order,
            .seed = 5},
           &args);
  }
};

std::string fault_of(const char* name, Order order, std::size_t shared = 0) {
  try {
    Planted().run(name, order, shared);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("the emulator runs a kernel in each order") {
  for (const Order order : kOrders) {
    Planted planted;
    planted.run("good_sum", order);
    for (const float each : planted.out) {
      CHECK(each == kThreads * (kThreads + 1) / 2);
    }
  }
}

TEST_CASE("the emulator finds what CUDA leaves undefined") {
  const std::pair<const char*, const char*> faults[] = {
      {"divergent_barrier", "different barriers"},
      {"barrier_after_exit", "others have ended"},
      {"partial_shuffle", "lane"},
      {"lane_outside_mask", "outside its mask"},
      {"wrong_masks", "disagree"},
      {"lane_waits_for_barrier", "lanes that do not come"},
      {"misaligned_vector", "16 bytes is misaligned"},
      {"misaligned_zeros", "16 bytes is misaligned"},
      {"zeros_of_nullptr", "a copy from nullptr"},
  };
  for (const auto& [name, what] : faults) {
    for (const Order order : kOrders) {
      CAPTURE(name);
      const std::string fault = fault_of(name, order);
      CAPTURE(fault);
      CHECK(fault.find(what) != std::string::npos);
      CHECK(fault.find(name) == 0);
    }
  }
}

TEST_CASE("a missing barrier gives a wrong result in some order") {
  bool wrong = false;
  for (const Order order : kOrders) {
    Planted planted;
    planted.run("no_barrier", order);
    for (unsigned i = 0; i < kThreads; ++i) {
      wrong |= planted.out[i] != planted.in[kThreads - 1 - i];
    }
  }
  CHECK(wrong);
}

TEST_CASE("unwritten shared memory is not a number") {
  Planted planted;
  planted.run("unwritten_shared", Order::kForward);
  for (unsigned i = 0; i < kThreads; ++i) {
    CHECK(std::isnan(planted.out[i]) == (i == 7));
  }
}

// AddressSanitizer would end the program.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a write beyond shared memory is found") {
  const std::size_t size = kThreads * sizeof(float);
  CHECK(fault_of("beyond_shared", Order::kForward, size + 4) == "");
  CHECK(fault_of("beyond_shared", Order::kForward, size)
            .find("beyond its shared memory") != std::string::npos);
}
#endif

TEST_CASE("a launch that no chip takes is refused") {
  const FaultArgs args{};
  const Kernel& kernel = *find_kernel("good_sum");
  CHECK_THROWS(launch(kernel, {.grid = {1}, .block = {512}}, &args));
  CHECK_THROWS(launch(kernel, {.grid = {0}, .block = {32}}, &args));
  CHECK_THROWS(launch(kernel, {.grid = {1, 70000}, .block = {32}}, &args));
  CHECK_THROWS(launch(
      kernel, {.grid = {1}, .block = {32}, .shared_bytes = 1 << 20}, &args));
  CHECK(find_kernel("no such kernel") == nullptr);
}

}  // namespace
}  // namespace ruleengine::emulator
