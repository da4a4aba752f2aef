// Rope: an encoded message made of pieces: views of stable memory (mostly the
// mapped source), small encoded parts of its own, and tensors whose bytes are
// computed when it is written. Adjacent views are joined, so that an unchanged
// part of a file is one copy, however many fields it holds. Sizes are always
// known; building a rope copies nothing. One thread; views must outlive the
// rope.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/arena.h"
#include "core/ir/literal.h"
#include "core/wire/wire.h"

namespace ruleengine::io {

struct Piece {
  const std::byte* data = nullptr;
  std::uint64_t size = 0;
  const ir::Literal* tensor = nullptr;  // its raw bytes instead of `data`
};

class Rope {
 public:
  // `source`: the memory that most views are in.
  explicit Rope(Bytes source = {}) : source_(source) {}

  void view(Bytes bytes);            // kept as a view
  void copy(std::string_view text);  // copied
  void tensor(const ir::Literal& tensor, std::uint64_t size);

  // Functions that write one field.
  void varint(std::uint32_t field, std::int64_t value);
  void fixed32(std::uint32_t field, std::uint32_t value);
  void text(std::uint32_t field, std::string_view value);  // copied
  // A StringStringEntryProto.
  void entry(std::uint32_t field, std::string_view key, std::string_view value);
  // A length-delimited field whose body is in stable memory. If the header
  // stands just before it, as in the source file, both become one view.
  void message(std::uint32_t field, Bytes body);
  // The header of a field; `size` bytes must follow.
  void header(std::uint32_t field, std::uint64_t size);

  // A message that is not written yet: everything between begin and end becomes
  // its body. Marks must be nested.
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
