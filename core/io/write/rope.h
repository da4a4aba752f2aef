// Rope: an encoded message that is put together from pieces: views of stable
// memory (above all the mapped source), small encoded parts of its own, and
// tensors whose bytes are made when it is written. Views that touch become one
// piece, so that an unchanged run of a file is one copy, however many fields
// it holds. Sizes are known throughout; nothing is copied to build it. One
// thread; views must outlive the rope.
#ifndef RULEENGINE_CORE_IO_WRITE_ROPE_H_
#define RULEENGINE_CORE_IO_WRITE_ROPE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/arena.h"
#include "core/io/wire/wire.h"
#include "core/ir/tensor.h"

namespace ruleengine::io {

struct Piece {
  const std::byte* data = nullptr;
  std::uint64_t size = 0;
  const ir::Tensor* tensor = nullptr;  // its raw bytes instead of `data`
};

class Rope {
 public:
  // `source`: where views most often lie, in one stretch.
  explicit Rope(Bytes source = {}) : source_(source) {}

  void view(Bytes bytes);            // kept as a view
  void copy(std::string_view text);  // copied
  void tensor(const ir::Tensor& tensor, std::uint64_t size);

  // Fields.
  void varint(std::uint32_t field, std::uint64_t value);
  void fixed32(std::uint32_t field, std::uint32_t value);
  void text(std::uint32_t field, std::string_view value);  // copied
  // A length-delimited field whose body lies in stable memory. Where its
  // header stands right before it, as in the file it came from, both are one
  // view.
  void message(std::uint32_t field, Bytes body);
  // The header of a field of `size` bytes that follow.
  void header(std::uint32_t field, std::uint64_t size);

  // A message that is still to be written: everything between begin and end
  // becomes its body. Ends come in reverse order of begins.
  struct Mark {
    std::size_t piece;
    std::uint64_t size;
    std::uint32_t field;
  };
  Mark begin(std::uint32_t field);
  void end(const Mark& mark);

  std::uint64_t size() const { return size_; }
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  bool in_source(const std::byte* data) const;
  bool touches(const Piece& before, const Piece& after) const;

  Bytes source_;
  Arena arena_;
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_WRITE_ROPE_H_
