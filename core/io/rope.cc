#include "core/io/rope.h"

#include <cstring>
#include <functional>
#include <protozero/varint.hpp>
#include <string>

namespace ruleengine::io {
namespace {

constexpr std::uint32_t kVarint = 0, kLength = 2, kFixed32 = 5;

// A tag and a varint, on the stack.
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

void Rope::view(Bytes bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    // Neighbours in memory may still belong to different files.
    if (last.tensor == nullptr && last.size > 0 &&
        last.data + last.size == bytes.data() &&
        in_source(last.data) == in_source(bytes.data())) {
      last.size += bytes.size();
      return;
    }
  }
  pieces_.push_back({bytes.data(), bytes.size(), nullptr});
}

void Rope::copy(std::string_view text) { view(as_bytes(arena_.copy(text))); }

void Rope::tensor(const ir::Tensor& tensor, std::uint64_t size) {
  if (size == 0) return;
  pieces_.push_back({nullptr, size, &tensor});
  size_ += size;
}

void Rope::varint(std::uint32_t field, std::uint64_t value) {
  copy(head(field, kVarint, value).text());
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
  header(field, value.size());
  copy(value);
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
  pieces_[mark.piece] = {as_bytes(kept).data(), kept.size(), nullptr};
  size_ += kept.size();
}

}  // namespace ruleengine::io
