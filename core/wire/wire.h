// Cursor: walks the fields of one encoded protobuf message, in place. It never
// reads outside the message, never copies, and stops for good at the first
// invalid byte; error() then tells the fault and at() the place. A known field
// with a wrong wire type is an error too (protobuf would treat it as unknown;
// in a model it always means damage). Groups, which ONNX does not use, are
// skipped to a bounded depth. Payloads are views with the lifetime of the
// message. One cursor, one thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/schema.h"

namespace ruleengine {

using Bytes = std::span<const std::byte>;

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

enum class WireError : std::uint8_t {
  kNone,
  kTruncated,  // a value or a length goes beyond the end of its message
  kVarint,     // more than 10 bytes
  kTag,        // field number 0 or too large, or wire type 6 or 7
  kGroup,      // unmatched end, or nested too deep
  kWireType,   // a known field with a wrong wire type
};

// Reads a varint of [at, end) and moves `at` behind it.
WireError read_varint_slow(const std::byte*& at, const std::byte* end,
                           std::uint64_t& value);
inline WireError read_varint(const std::byte*& at, const std::byte* end,
                             std::uint64_t& value) {
  if (at != end && static_cast<std::uint8_t>(*at) < 0x80) {
    value = static_cast<std::uint8_t>(*at++);
    return WireError::kNone;
  }
  return read_varint_slow(at, end, value);
}

class Cursor {
 public:
  Cursor(Bytes message, const schema::Message& schema)
      : at_(message.data()),
        next_(message.data()),
        end_(message.data() + message.size()),
        schema_(&schema) {}

  // Steps to the next field; false at the end and on an error.
  bool next() {
    at_ = next_;
    return next_ != end_ && (read_short() || read());
  }

  std::uint32_t field() const { return field_; }
  bool is_length() const { return type_ == WireType::kLength; }

  // The value of a varint or fixed field.
  std::uint64_t number() const { return number_; }
  std::int64_t integer() const { return static_cast<std::int64_t>(number_); }
  float real() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(number_));
  }
  // The payload of a length-delimited field.
  Bytes bytes() const { return payload_; }
  std::string_view text() const { return as_text(payload_); }
  // Of a known field.
  std::string_view name() const { return schema_->fields[field_].name; }
  // What the field holds, if it is a known one that holds messages.
  const schema::Message* child() const {
    return field_ < schema_->fields.size() ? schema_->fields[field_].child
                                           : nullptr;
  }
  // Whether a packed list of numbers does not end inside one. True for other
  // fields.
  bool is_whole() const;
  // Appends the integers of a field, packed or not; false where a packed list
  // ends inside a number.
  bool append_integers(std::vector<std::int64_t>& to) const;
  // The whole field, including its tag.
  Bytes whole() const { return {at_, next_}; }

  WireError error() const { return error_; }
  // The start of the current field, or of the one that could not be read.
  const std::byte* at() const { return at_; }
  // Explains the error: {"length of field 'node'", "at most 5", "77"}.
  struct Explanation {
    std::string what, expected, found;
  };
  Explanation explain() const;

 private:
  // Fast path for most fields: a field number below 16, fewer than 128 bytes.
  // False, and nothing is read, for any other field.
  bool read_short() {
    if (end_ - next_ < 2) return false;
    const auto tag = static_cast<std::uint8_t>(next_[0]);
    const auto size = static_cast<std::uint8_t>(next_[1]);
    const std::uint32_t field = tag >> 3;
    if ((tag & 0x87) != 2 || size >= 0x80 || field == 0 ||
        size > end_ - next_ - 2 || !schema_->takes(field, WireType::kLength)) {
      return false;
    }
    field_ = field;
    type_ = WireType::kLength;
    number_ = size;
    payload_ = {next_ + 2, size};
    next_ += 2 + size;
    return true;
  }
  bool read();
  bool read_length();
  bool read_fixed(std::size_t size);
  bool skip_group();
  bool read_value(WireType type);
  bool fail(WireError error) {
    error_ = error;
    next_ = end_;
    return false;
  }

  const std::byte* at_;
  const std::byte* next_;
  const std::byte* end_;
  const schema::Message* schema_;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  WireError error_ = WireError::kNone;
  std::uint64_t number_ = 0;
  Bytes payload_;
};

// Calls `visit(cursor)` for the fields with that number in parts of a message.
// Stops when `visit` returns false, and then returns false.
template <typename Visit>
bool each_field(std::span<const Bytes> stretches,
                const schema::Message& message, std::uint32_t field,
                Visit&& visit) {
  for (const Bytes stretch : stretches) {
    Cursor cursor(stretch, message);
    while (cursor.next()) {
      if (cursor.field() == field && !visit(cursor)) return false;
    }
  }
  return true;
}

// The last text with that field number in a message; "" without one.
std::string_view text_field(Bytes message, const schema::Message& schema,
                            std::uint32_t field);

struct StringEntry {
  std::string_view key, value;
};
// Reads a StringStringEntryProto to its end, or to its first invalid byte.
StringEntry read_entry(Cursor& entry);
inline StringEntry read_entry(Bytes entry) {
  Cursor cursor(entry, schema::kEntry);
  return read_entry(cursor);
}

}  // namespace ruleengine
