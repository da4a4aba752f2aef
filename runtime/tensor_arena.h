// TensorArena: the tensors of a run in one block. Runs on inputs of the same
// shapes ask for the same blocks in the same order. So the requests of one run
// are written down with the time that each block was in use, laid out side by
// side, and the next runs get places in one block, at no cost. A request that
// differs from the script, and all that follow it, go to the memory itself; so
// do blocks that outlive the run. The scripts of a few shapes are kept, which
// share the block. For one thread; what several ask for at once has no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/memory.h"

namespace ruleengine::runtime {

// When a block was in use, in steps of a clock: from `begin` until before
// `end`.
struct BlockUse {
  std::size_t bytes = 0;
  std::size_t begin = 0, end = 0;
};

// Where each block is, so that no two are in the same place at once, and the
// bytes of all of them together. Places are aligned.
struct Layout {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};
// Large blocks first, each into the smallest gap that takes it (Y. Pisarchyk
// and J. Lee, "Efficient Memory Management for Deep Neural Net Inference").
Layout lay_out(std::span<const BlockUse> blocks, std::size_t alignment);
class TensorArena {
 public:
  explicit TensorArena(std::shared_ptr<Memory> memory)
      : memory_(std::move(memory)) {}

  // Of a run on inputs of these shapes. The second one is written down; those
  // after it are served.
  void begin(std::vector<std::int64_t> shapes);
  // `is_complete`: whether the run gave results.
  void end(bool is_complete);
  // Gives its block back, between runs, and forgets all scripts; whether there
  // was any.
  bool drop();

  std::shared_ptr<std::byte> allocate(std::size_t bytes);
  // Copies to and from the memory are written down, too: the bytes of all.
  void count_copy(std::size_t bytes) {
    if (script_ != nullptr) forms_.front().copied += bytes;
  }
  // Of the run whose script is served.
  std::size_t copied() const { return forms_.front().copied; }

  // Whether the run gets its blocks from one, and that one.
  bool is_serving() const { return is_serving_; }
  const std::shared_ptr<std::byte>& block() const { return block_; }

 private:
  // A request of the script.
  struct Slot {
    std::size_t bytes = 0;
    std::optional<std::size_t> offset;  // or the memory gives one
    std::weak_ptr<std::byte> given;
    std::vector<std::size_t> before;  // slots that were here last
  };
  // Runs on inputs of the same shapes.
  struct Form {
    std::vector<std::int64_t> shapes;
    bool is_written = false;  // one of them was
    std::vector<Slot> slots;  // none: they cannot be served
    std::size_t bytes = 0;    // of all slots
    std::size_t copied = 0;

    // Whether no block of a slot is in use.
    bool is_free() const;
  };
  struct Script;

  void make_slots(const Script& script);
  void find_room();
  std::shared_ptr<std::byte> next_slot(std::size_t bytes);

  std::shared_ptr<Memory> memory_;
  std::vector<Form> forms_;         // the latest first
  std::shared_ptr<Script> script_;  // while it is written
  std::shared_ptr<std::byte> block_;
  std::size_t block_bytes_ = 0;
  std::size_t next_ = 0;  // slot
  bool is_serving_ = false;
};

}  // namespace ruleengine::runtime
