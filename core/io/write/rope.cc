#include "core/io/write/rope.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <protozero/varint.hpp>

namespace ruleengine::io {
namespace {

constexpr std::uint32_t kVarint = 0, kLength = 2, kFixed32 = 5;
// A body up to this size is moved to stand behind its header.
constexpr std::uint64_t kShort = 512;

// A buffer on the stack for a tag and a varint.
struct Head {
  char bytes[20];
  int size = 0;

  void add(std::uint64_t value) {
    size += protozero::add_varint_to_buffer(bytes + size, value);
  }
  std::string_view text() const {
    return {bytes, static_cast<std::size_t>(size)};
  }
};

Head head(std::uint32_t field, std::uint32_t type, std::uint64_t value) {
  Head out;
  out.add(field << 3 | type);
  out.add(value);
  return out;
}

}  // namespace

bool Rope::in_source(const std::byte* data) const {
  const std::less<> before;
  return !source_.empty() && !before(data, source_.data()) &&
         before(data, source_.data() + source_.size());
}

// Whether the two are adjacent in one piece of memory. Adjacent pieces may
// belong to different files. A piece without bytes waits for its header.
bool Rope::touches(const Piece& before, const Piece& after) const {
  return before.tensor == nullptr && before.size > 0 &&
         before.data + before.size == after.data &&
         in_source(before.data) == in_source(after.data);
}

void Rope::view(Bytes bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  const Piece piece{bytes.data(), bytes.size(), nullptr};
  if (!pieces_.empty() && touches(pieces_.back(), piece)) {
    pieces_.back().size += piece.size;
  } else {
    pieces_.push_back(piece);
  }
}

void Rope::copy(std::string_view text) { view(as_bytes(arena_.copy(text))); }

void Rope::tensor(const ir::Literal& tensor, std::uint64_t size) {
  if (size == 0) return;
  pieces_.push_back({nullptr, size, &tensor});
  size_ += size;
}

void Rope::varint(std::uint32_t field, std::int64_t value) {
  copy(head(field, kVarint, static_cast<std::uint64_t>(value)).text());
}

void Rope::fixed32(std::uint32_t field, std::uint32_t value) {
  Head out;
  out.add(field << 3 | kFixed32);
  std::memcpy(out.bytes + out.size, &value, 4);
  out.size += 4;
  copy(out.text());
}

void Rope::header(std::uint32_t field, std::uint64_t size) {
  copy(head(field, kLength, size).text());
}

void Rope::text(std::uint32_t field, std::string_view value) {
  const Head before = head(field, kLength, value.size());
  const std::size_t size = before.text().size() + value.size();
  char* const at = static_cast<char*>(arena_.allocate(size, 1));
  std::ranges::copy(value, std::ranges::copy(before.text(), at).out);
  view(as_bytes(std::string_view(at, size)));
}

void Rope::entry(std::uint32_t field, std::string_view key,
                 std::string_view value) {
  const Mark mark = begin(field);
  text(entry_field::kKey, key);
  text(entry_field::kValue, value);
  end(mark);
}

void Rope::message(std::uint32_t field, Bytes body) {
  const Head out = head(field, kLength, body.size());
  const std::string_view text = out.text();
  const std::byte* before = body.data() - text.size();
  if (!body.empty() && in_source(before) &&
      std::memcmp(before, text.data(), text.size()) == 0) {
    return view({before, text.size() + body.size()});
  }
  copy(text);
  view(body);
}

Rope::Mark Rope::begin(std::uint32_t field) {
  pieces_.push_back({});
  return {pieces_.size() - 1, size_, field};
}

void Rope::end(const Mark& mark) {
  const Head out = head(mark.field, kLength, size_ - mark.size);
  const std::string_view kept = arena_.copy(out.text());
  Piece header{as_bytes(kept).data(), kept.size(), nullptr};
  size_ += header.size;
  const bool short_body =
      pieces_.size() == mark.piece + 2 && pieces_.back().size <= kShort;
  if (short_body && touches(pieces_.back(), header)) {
    // The body was written just before its header, so they are swapped.
    const Piece body = pieces_.back();
    std::byte* const begin = const_cast<std::byte*>(body.data);
    std::memmove(begin + header.size, begin, body.size);
    std::memcpy(begin, out.bytes, header.size);
    header = {begin, body.size + header.size, nullptr};
    pieces_.pop_back();
  }
  pieces_[mark.piece] = header;
  const bool is_last = mark.piece > 0 && pieces_.size() == mark.piece + 1;
  if (is_last && touches(pieces_[mark.piece - 1], header)) {
    pieces_[mark.piece - 1].size += header.size;
    pieces_.pop_back();
  }
}

}  // namespace ruleengine::io
