#include "core/wire/wire.h"

#include <cstring>

namespace ruleengine {
namespace {

// The default limit of protobuf's own readers.
constexpr int kMaxGroupDepth = 100;
constexpr std::uint64_t kMaxTag = 0xffffffffu;

constexpr std::string_view kWireTypeNames[] = {
    "varint",      "64-bit",    "length-delimited",
    "group start", "group end", "32-bit"};

std::string field_text(const schema::Message& schema, std::uint32_t field) {
  std::string out = "field ";
  if (schema.shape(field) != schema::kAny) {
    out += "'" + std::string(schema.fields[field].name) + "'";
  } else {
    out += std::to_string(field);
  }
  return out + " of " + std::string(schema.name);
}

}  // namespace

WireError read_varint_slow(const std::byte*& at, const std::byte* end,
                           std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at == end) return WireError::kTruncated;
    const auto byte = static_cast<std::uint64_t>(*at++);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return WireError::kNone;
  }
  return WireError::kVarint;
}

bool Cursor::read() {
  std::uint64_t tag;
  if (WireError e = read_varint(next_, end_, tag); e != WireError::kNone) {
    field_ = 0;
    return fail(e);
  }
  field_ = static_cast<std::uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  if (tag > kMaxTag || field_ == 0 || (tag & 7) > 5) {
    number_ = tag;
    return fail(WireError::kTag);
  }
  if (!schema_->takes(field_, type_)) return fail(WireError::kWireType);
  return type_ == WireType::kStartGroup ? skip_group() : read_value(type_);
}

// Reads a value, except the begin or end of a group.
bool Cursor::read_value(WireType type) {
  switch (type) {
    case WireType::kVarint: {
      const WireError e = read_varint(next_, end_, number_);
      return e == WireError::kNone || fail(e);
    }
    case WireType::kFixed64:
      return read_fixed(8);
    case WireType::kFixed32:
      return read_fixed(4);
    case WireType::kLength:
      return read_length();
    default:
      return fail(WireError::kGroup);
  }
}

bool Cursor::read_length() {
  if (WireError e = read_varint(next_, end_, number_); e != WireError::kNone) {
    return fail(e);
  }
  // Compares sizes, since the pointer next_ + number_ could overflow.
  if (number_ > static_cast<std::uint64_t>(end_ - next_)) {
    payload_ = {next_, end_};
    return fail(WireError::kTruncated);
  }
  payload_ = {next_, static_cast<std::size_t>(number_)};
  next_ += number_;
  return true;
}

bool Cursor::read_fixed(std::size_t size) {
  if (static_cast<std::size_t>(end_ - next_) < size) {
    return fail(WireError::kTruncated);
  }
  number_ = 0;
  std::memcpy(&number_, next_, size);
  next_ += size;
  return true;
}

bool Cursor::skip_group() {
  std::uint32_t open[kMaxGroupDepth];
  int depth = 0;
  open[depth++] = field_;
  while (depth > 0) {
    std::uint64_t tag;
    if (WireError e = read_varint(next_, end_, tag); e != WireError::kNone) {
      return fail(e);
    }
    const auto field = static_cast<std::uint32_t>(tag >> 3);
    if (tag > kMaxTag || field == 0) return fail(WireError::kTag);
    const auto type = static_cast<WireType>(tag & 7);
    bool ok = true;
    if (type == WireType::kStartGroup) {
      ok = depth < kMaxGroupDepth;
      if (ok) open[depth++] = field;
    } else if (type == WireType::kEndGroup) {
      ok = open[--depth] == field;
    } else {
      ok = read_value(type);
    }
    if (!ok) return fail(WireError::kGroup);
  }
  payload_ = {};
  return true;
}

bool Cursor::is_whole() const {
  if (!is_length()) return true;
  switch (schema_->shape(field_)) {
    case schema::kFloats:
      return payload_.size() % 4 == 0;
    case schema::kDoubles:
      return payload_.size() % 8 == 0;
    case schema::kVarints: {
      const std::byte* at = payload_.data();
      const std::byte* const end = at + payload_.size();
      std::uint64_t skipped;
      while (at != end) {
        if (read_varint(at, end, skipped) != WireError::kNone) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

bool Cursor::append_integers(std::vector<std::int64_t>& to) const {
  if (!is_length()) {
    to.push_back(integer());
    return true;
  }
  const std::byte* at = payload_.data();
  const std::byte* const end = at + payload_.size();
  std::uint64_t value;
  while (at != end) {
    if (read_varint(at, end, value) != WireError::kNone) return false;
    to.push_back(static_cast<std::int64_t>(value));
  }
  return true;
}

std::string_view text_field(Bytes message, const schema::Message& schema,
                            std::uint32_t field) {
  std::string_view text;
  Cursor cursor(message, schema);
  while (cursor.next()) {
    if (cursor.field() == field) text = cursor.text();
  }
  return text;
}

StringEntry read_entry(Cursor& entry) {
  StringEntry out;
  while (entry.next()) {
    if (entry.field() == entry_field::kKey) out.key = entry.text();
    if (entry.field() == entry_field::kValue) out.value = entry.text();
  }
  return out;
}

Cursor::Explanation Cursor::explain() const {
  const std::string field = field_text(*schema_, field_);
  switch (error_) {
    case WireError::kTruncated:
      if (field_ != 0 && type_ == WireType::kLength) {
        return {"the file is truncated or damaged: " + field +
                    " goes beyond the end",
                std::to_string(number_) + " bytes",
                std::to_string(payload_.size()) + " bytes"};
      }
      return {"the file is truncated or damaged: " +
                  std::string(schema_->name) + " ends inside a field",
              "a whole field", "the end of the message"};
    case WireError::kVarint:
      return {"not protobuf: a variable-length integer has no end",
              "at most 10 bytes", "more"};
    case WireError::kTag:
      return {"not protobuf: no field has this tag in " +
                  std::string(schema_->name),
              "a field number from 1 to 536870911 and a wire type up to 5",
              "field " + std::to_string(number_ >> 3) + ", wire type " +
                  std::to_string(number_ & 7)};
    case WireError::kGroup:
      return {"not a valid group at " + field,
              "matching ends and at most 100 levels", ""};
    case WireError::kWireType:
      return {"wrong wire type for " + field, "",
              std::string(kWireTypeNames[static_cast<int>(type_)])};
    case WireError::kNone:
      break;
  }
  return {};
}

}  // namespace ruleengine
