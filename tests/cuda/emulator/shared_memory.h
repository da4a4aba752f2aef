// The shared memory of a block: pieces between guard bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ruleengine::emulator {

class SharedMemory {
 public:
  static constexpr std::size_t kMost = 227 << 10;       // of a chip, sm_90
  static constexpr std::size_t kMostStatic = 48 << 10;  // without asking

  SharedMemory();
  // A block begins: no pieces but that of `dynamic` bytes.
  void begin(std::size_t dynamic);
  std::byte* dynamic() const { return pieces_.front().data; }
  // The piece that is declared at `site`; nullptr where too much is asked.
  std::byte* piece(const void* site, std::size_t size);
  // Whether no guard byte was written.
  bool is_intact();

 private:
  struct Piece {
    const void* site;
    std::byte* data;
    std::size_t size;
  };
  struct Free {
    void operator()(std::byte* data) const;
  };

  std::byte* add(const void* site, std::size_t size);

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t end_ = 0;
  std::size_t static_size_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace ruleengine::emulator
