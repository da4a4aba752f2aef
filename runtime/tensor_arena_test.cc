// The layout of blocks, and what an arena gives to runs that do not follow its
// script.
#include "runtime/tensor_arena.h"

#include <doctest/doctest.h>

#include <random>

namespace ruleengine::runtime {
namespace {

using Blocks = std::vector<BlockUse>;

void check_apart(const Blocks& blocks, const Layout& layout,
                 std::size_t alignment) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(layout.offsets[i] % alignment == 0);
    CHECK(layout.offsets[i] + blocks[i].bytes <= layout.bytes);
    for (std::size_t k = 0; k < i; ++k) {
      const bool meet =
          blocks[k].begin < blocks[i].end && blocks[i].begin < blocks[k].end;
      if (!meet) continue;
      const bool apart =
          layout.offsets[i] + blocks[i].bytes <= layout.offsets[k] ||
          layout.offsets[k] + blocks[k].bytes <= layout.offsets[i];
      CHECK(apart);
    }
  }
}

// The most bytes that are in use at once: where some block begins.
std::size_t most_in_use(const Blocks& blocks, std::size_t alignment) {
  std::size_t most = 0;
  for (const BlockUse& now : blocks) {
    std::size_t live = 0;
    for (const BlockUse& each : blocks) {
      const bool is_there = each.begin <= now.begin && now.begin < each.end;
      if (is_there) live += rounded_up(each.bytes, alignment);
    }
    most = std::max(most, live);
  }
  return most;
}

TEST_CASE("blocks that are in use at once are apart, and take little more") {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    // Each node makes a block that lives for a few nodes, some for long.
    Blocks blocks;
    const std::size_t count = 2 + random() % 100;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t life = random() % 8 == 0 ? 40 : 1 + random() % 4;
      blocks.push_back({.bytes = 1 + random() % 5000,
                        .begin = 2 * i,
                        .end = 2 * (i + life) + 1});
    }
    for (const std::size_t alignment : {64, 256}) {
      const Layout layout = lay_out(blocks, alignment);
      check_apart(blocks, layout, alignment);
      const std::size_t live = most_in_use(blocks, alignment);
      CHECK(layout.bytes >= live);
      CHECK(layout.bytes * 100 <= live * 130);
    }
  }
  CHECK(lay_out(Blocks(), 64).bytes == 0);
}

// A chain: each block is given back after the next one is there.
std::vector<const std::byte*> run_chain(
    TensorArena& arena, const std::vector<std::size_t>& sizes,
    std::shared_ptr<std::byte>* kept = nullptr) {
  std::vector<const std::byte*> out;
  std::shared_ptr<std::byte> last;
  arena.begin({1});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto made = arena.allocate(sizes[i]);
    std::fill_n(made.get(), sizes[i], std::byte(i));
    if (last != nullptr) CHECK(*last == std::byte(i - 1));
    last = std::move(made);
    out.push_back(last.get());
    if (kept != nullptr && i == 1) *kept = last;
  }
  arena.end(true);
  return out;
}

TEST_CASE("the third run of a kind is served from one block") {
  const auto memory = HostMemory::create();
  TensorArena arena(memory);
  const std::vector<std::size_t> sizes = {640, 6400, 64, 6400, 640};
  run_chain(arena, sizes);
  run_chain(arena, sizes);
  const auto third = run_chain(arena, sizes);
  // The last block of a chain outlives it.
  CHECK(memory->live() == 6400 + 640);
  CHECK(memory->held() == memory->live() + 640);
  CHECK(run_chain(arena, sizes) == third);
}

TEST_CASE("a run that differs from the script gets memory of its own") {
  const auto memory = HostMemory::create();
  TensorArena arena(memory);
  const std::vector<std::size_t> sizes = {640, 6400, 64, 6400, 640};
  for (int i = 0; i < 3; ++i) run_chain(arena, sizes);
  run_chain(arena, {640, 64, 6400, 64, 64, 640});
  run_chain(arena, {640, 6400});
  run_chain(arena, {640, 6400, 64, 6400, 640, 640, 640});
  // A block that outlives its run.
  std::shared_ptr<std::byte> kept;
  run_chain(arena, sizes, &kept);
  for (int i = 0; i < 2; ++i) {
    run_chain(arena, sizes);
    CHECK(*kept == std::byte(1));
  }
  // And one that is kept longer than in the script.
  kept = nullptr;
  std::vector<std::shared_ptr<std::byte>> all;
  arena.begin({1});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    all.push_back(arena.allocate(sizes[i]));
    std::fill_n(all[i].get(), sizes[i], std::byte(i));
  }
  arena.end(true);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(*all[i] == std::byte(i));
    CHECK(all[i].get()[sizes[i] - 1] == std::byte(i));
  }
}

TEST_CASE("other shapes have a script of their own, once they come twice") {
  const auto memory = HostMemory::create();
  TensorArena arena(memory);
  const std::vector<std::size_t> sizes = {640, 6400, 64, 6400, 640};
  for (int i = 0; i < 3; ++i) run_chain(arena, sizes);
  const std::size_t live = memory->live();
  CHECK(live > 0);
  const auto run_other = [&](bool is_complete) {
    arena.begin({2});
    const auto a = arena.allocate(64000);
    arena.end(is_complete);
  };
  run_other(true);
  CHECK(memory->live() == live);
  run_other(false);  // nothing is known of a run that failed
  CHECK(memory->live() == 0);
  // What outlives its run has no place in the block.
  run_other(true);
  CHECK(memory->live() == 0);
}

// A run that asks for one block and one that outlives it.
std::shared_ptr<std::byte> run_form(TensorArena& arena, std::int64_t shape,
                                    std::size_t bytes, bool* is_served,
                                    const std::byte** place) {
  arena.begin({shape});
  *is_served = arena.is_serving();
  auto inner = arena.allocate(bytes);
  *place = inner.get();
  arena.count_copy(bytes);
  if (*is_served) CHECK(arena.copied() == bytes);
  auto kept = arena.allocate(64);
  inner = nullptr;
  arena.end(true);
  return kept;
}

TEST_CASE(
    "shapes in turn are served from one block, and the latest are known") {
  const auto memory = HostMemory::create();
  TensorArena arena(memory);
  bool is_served = false;
  const std::byte* place = nullptr;
  std::vector<const std::byte*> places;
  for (int i = 0; i < 5; ++i) {
    for (const std::int64_t shape : {3, 1, 2}) {
      const auto bytes = static_cast<std::size_t>(shape) * 6400;
      run_form(arena, shape, bytes, &is_served, &place);
      CHECK(is_served == (i >= 2));
      if (is_served) places.push_back(place);
    }
  }
  CHECK(std::ranges::count(places, places[0]) == std::ssize(places));
  CHECK(memory->live() == std::size_t{3} * 6400);
  // More than are known at once: the oldest goes.
  for (std::int64_t shape = 4; shape < 11; ++shape) {
    run_form(arena, shape, 64, &is_served, &place);
    CHECK(!is_served);
  }
  run_form(arena, 2, 12800, &is_served, &place);
  CHECK(is_served);
  run_form(arena, 3, 19200, &is_served, &place);
  CHECK(!is_served);
}

TEST_CASE("what outlives its run is not where runs of other shapes write") {
  const auto memory = HostMemory::create();
  TensorArena arena(memory);
  bool is_served = false;
  const std::byte* place = nullptr;
  for (int i = 0; i < 3; ++i) {
    for (const std::int64_t shape : {1, 2}) {
      run_form(arena, shape, 6400, &is_served, &place);
    }
  }
  arena.begin({1});
  const auto kept = arena.allocate(6400);
  arena.end(true);
  CHECK(kept.get() == place);
  run_form(arena, 2, 6400, &is_served, &place);
  CHECK(is_served);
  CHECK(kept.get() != place);
}

}  // namespace
}  // namespace ruleengine::runtime
