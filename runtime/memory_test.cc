#include "runtime/memory.h"

#include <doctest/doctest.h>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

TEST_CASE("blocks are aligned, counted, and used again") {
  const auto memory = HostMemory::create();
  auto a = memory->allocate(1000);
  CHECK(reinterpret_cast<std::uintptr_t>(a.get()) % 64 == 0);
  CHECK(memory->live() == 1000);
  const std::byte* place = a.get();
  a.reset();
  CHECK(memory->live() == 0);
  CHECK(memory->peak() == 1000);
  const auto b = memory->allocate(980);
  CHECK(b.get() == place);
  memory->reset_peak();
  CHECK(memory->peak() == 980);
}

TEST_CASE("what is held stays near the peak") {
  const auto memory = HostMemory::create();
  for (std::size_t size = 1 << 20; size < 40u << 20; size += 1 << 20) {
    memory->allocate(size);
  }
  CHECK(memory->held() <= memory->peak() + memory->peak() / 20);
}

TEST_CASE("a request beyond the limit fails, and later ones may fit") {
  const auto memory = HostMemory::create(1000);
  auto a = memory->allocate(600);
  try {
    memory->allocate(500);
    FAIL("no failure");
  } catch (const Failure& failure) {
    CHECK(failure.error.kind == ErrorKind::kLimit);
    CHECK(failure.error.remedy == Remedy::kTensors);
    CHECK(failure.error.found == "600 in use and 500 more");
  }
  CHECK_THROWS_AS(memory->allocate(~std::size_t{0}), Failure);
  a.reset();
  CHECK(memory->allocate(1000) != nullptr);
}

TEST_CASE("strings are counted as they grow") {
  const auto memory = HostMemory::create(10'000);
  auto strings = memory->strings(10);
  const std::size_t empty = memory->live();
  CHECK(empty == 10 * sizeof(String));
  (*strings)[3] = std::string(1000, 'x');
  CHECK(memory->live() > empty + 1000);
  CHECK_THROWS_AS((*strings)[4] = std::string(20'000, 'x'), Failure);
  const auto copy = memory->strings(1);
  (*copy)[0] = (*strings)[3];
  CHECK(memory->live() > empty + 2000);
  (*strings)[3] = String();
  (*strings)[3].shrink_to_fit();
  strings.reset();
  CHECK(memory->live() < 1200);
  CHECK_THROWS_AS(memory->strings(1'000), Failure);
}

TEST_CASE("a block outlives the one who asked for the memory") {
  std::shared_ptr<std::byte> block = HostMemory::create()->allocate(10);
  block.get()[9] = std::byte{1};
}

}  // namespace
}  // namespace ruleengine::runtime
