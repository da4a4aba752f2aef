// The part of protobuf's encoding that this folder needs: types other than
// tensors are kept encoded (ir::Type::other, attributes of types), and so is
// the model's header. Readers stay within their message and stop at invalid
// data. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ruleengine::text::wire {

using Bytes = std::span<const std::byte>;

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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
                      Bytes body) {
  put_varint(out, field << 3 | 2);
  put_varint(out, body.size());
  out.insert(out.end(), body.begin(), body.end());
}
inline void put_text(std::vector<std::byte>& out, std::uint32_t field,
                     std::string_view text) {
  put_bytes(out, field, std::as_bytes(std::span(text)));
}

class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}

  bool next() {
    std::uint64_t tag = 0, size = 0;
    number = 0;
    body = {};
    if (rest_.empty() || !varint(tag)) return false;
    field = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        return varint(number);
      case 1:
        return skip(8);
      case 2:
        return varint(size) && skip(size);
      case 5:
        return skip(4);
      default:
        return false;
    }
  }

  std::uint32_t field = 0;
  std::uint64_t number = 0;  // of a varint
  Bytes body;                // of any other

 private:
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; !rest_.empty() && shift < 70; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_[0]);
      rest_ = rest_.subspan(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool skip(std::uint64_t size) {
    if (size > rest_.size()) return false;
    body = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(body.size());
    return true;
  }

  Bytes rest_;
};

// Field numbers of onnx.proto.
enum : std::uint32_t {
  kModelIrVersion = 1,
  kModelProducerName = 2,
  kModelProducerVersion = 3,
  kModelDomain = 4,
  kModelVersion = 5,
  kModelDoc = 6,
  kModelGraph = 7,
  kModelOpset = 8,
  kModelMetadata = 14,
  kGraphSparse = 15,
  kSparseValues = 1,
  kTensorName = 8,
  kTypeTensor = 1,
  kTypeSequence = 4,
  kTypeMap = 5,
  kTypeOpaque = 7,
  kTypeSparse = 8,
  kTypeOptional = 9,
  kAttributeName = 1,
  kAttributeType = 20,
  kAttributeTp = 14,
  kAttributeTypeProtos = 15,
};

}  // namespace ruleengine::text::wire
