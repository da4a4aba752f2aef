// Fields of protobuf's encoding: types other than tensors are kept encoded
// (ir::Type::other, attributes of types), and so is the model's header. Pure
// functions, which append.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ruleengine::text {

inline void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<std::byte>(value | 0x80));
  }
  out.push_back(static_cast<std::byte>(value));
}

inline void put_int(std::vector<std::byte>& out, std::uint32_t field,
                    std::int64_t value) {
  put_varint(out, field << 3);
  put_varint(out, static_cast<std::uint64_t>(value));
}

inline void put_bytes(std::vector<std::byte>& out, std::uint32_t field,
                      std::span<const std::byte> body) {
  put_varint(out, field << 3 | 2);
  put_varint(out, body.size());
  out.insert(out.end(), body.begin(), body.end());
}

inline void put_text(std::vector<std::byte>& out, std::uint32_t field,
                     std::string_view text) {
  put_bytes(out, field, std::as_bytes(std::span(text)));
}

}  // namespace ruleengine::text
