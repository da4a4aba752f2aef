// The memory of a session, and what it asks of the driver.
#include <doctest/doctest.h>

#include <memory>

#include "runtime/failure.h"
#include "runtime/tensor_arena.h"
#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

TEST_CASE("a tensor that grows from run to run rarely asks the driver") {
  auto session = gpu()->open();
  runtime::DeviceMemory& memory = *session->memory();
  standin::driver().counts = {};
  std::size_t bytes = kMega;
  std::shared_ptr<std::byte> past = memory.allocate(bytes);
  for (; bytes < 3 * kMega; bytes += 4096) past = memory.allocate(bytes);
  auto& calls = standin::driver().counts.calls;
  CHECK(calls["cuMemAlloc"] < 30);
  CHECK(calls["cuMemFree"] < 30);
  past = nullptr;
  memory.drop_free();
  // At most an eighth more than was asked for.
  for (; bytes < 5 * kMega; bytes += 99'991) {
    const auto block = memory.allocate(bytes);
    CHECK(standin::driver().live_bytes() >= bytes);
    CHECK(standin::driver().live_bytes() <= bytes + bytes / 8);
    memory.drop_free();
  }
  session.reset();
  check_nothing_left();
}

TEST_CASE("what just fits into the memory of the GPU is not made larger") {
  auto session = gpu()->open();
  runtime::DeviceMemory& memory = *session->memory();
  constexpr std::size_t kJustMore = 4 * kMega + 256;
  standin::Driver& driver = standin::driver();
  const std::size_t before = std::exchange(driver.memory_bytes, kJustMore);
  const auto block = memory.allocate(kJustMore);
  CHECK(driver.live_bytes() == kJustMore);
  driver.memory_bytes = before;
}

TEST_CASE("what is recorded neither asks for memory nor gives some back") {
  auto session = gpu()->open();
  runtime::DeviceMemory& memory = *session->memory();
  const std::shared_ptr<runtime::Memory> lent(std::shared_ptr<void>(), &memory);
  runtime::TensorArena arena(lent);
  arena.begin({1});
  memory.arena = &arena;
  memory.allocate(kMega);  // is free again
  session->begin();
  REQUIRE(session->start_recording());
  standin::driver().counts = {};
  CHECK_THROWS_AS(memory.allocate(2 * kMega), runtime::Failure);
  const auto& calls = standin::driver().counts.calls;
  CHECK(!calls.contains("cuMemFree"));
  CHECK(!calls.contains("cuMemAlloc"));
  CHECK(session->stop_recording() == nullptr);
  session->finish();
  CHECK(standin::driver().live_bytes() == kMega);
  memory.allocate(2 * kMega);
  memory.drop_free();
  CHECK(standin::driver().live_bytes() == 0);
  session.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

}  // namespace
}  // namespace ruleengine::kernels
