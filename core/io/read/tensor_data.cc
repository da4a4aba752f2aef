#include "core/io/read/tensor_data.h"

#include <algorithm>
#include <charconv>

#include "core/io/read/parts.h"

namespace ruleengine::io {
namespace {

using ir::DataType;

// The typed field that holds the data of a type.
std::uint32_t field_of(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      return tensor_field::kFloatData;
    case DataType::kDouble:
    case DataType::kComplex128:
      return tensor_field::kDoubleData;
    case DataType::kInt64:
      return tensor_field::kInt64Data;
    case DataType::kUint32:
    case DataType::kUint64:
      return tensor_field::kUint64Data;
    case DataType::kString:
      return tensor_field::kStringData;
    default:
      return tensor_field::kInt32Data;
  }
}

// The number of entries in the typed field for `elements` elements.
std::optional<std::int64_t> entry_count(DataType type, std::int64_t elements) {
  std::int64_t count = elements;
  if (type == DataType::kComplex64 || type == DataType::kComplex128) {
    if (__builtin_mul_overflow(elements, 2, &count)) return std::nullopt;
    return count;
  }
  const int bits = element_bits(type);
  if (bits == 4) return elements / 2 + elements % 2;
  if (bits == 2) return elements / 4 + (elements % 4 != 0);
  return count;
}

struct Range {
  std::int64_t low, high;
};

// The range of an entry of int32_data or uint64_data for a type.
Range range_of(DataType type) {
  switch (type) {
    case DataType::kInt32:
      return {INT32_MIN, INT32_MAX};
    case DataType::kInt16:
      return {INT16_MIN, INT16_MAX};
    case DataType::kInt8:
      return {INT8_MIN, INT8_MAX};
    case DataType::kBool:
      return {0, 1};
    case DataType::kUint32:
      return {0, UINT32_MAX};
    case DataType::kInt64:
    case DataType::kUint64:
      return {INT64_MIN, INT64_MAX};
    case DataType::kInt4:  // two in a byte, which some writers sign-extend
    case DataType::kInt2:
      return {INT8_MIN, UINT8_MAX};
    default:
      return {0, element_bits(type) > 8 ? UINT16_MAX : UINT8_MAX};
  }
}

bool check_varints(Context& context, Bytes packed, const Place& place,
                   DataType type, std::int64_t& count) {
  const Range range = range_of(type);
  const bool narrow = field_of(type) == tensor_field::kInt32Data;
  const std::byte* at = packed.data();
  const std::byte* end = at + packed.size();
  count = 0;
  while (at != end) {
    std::uint64_t raw;
    if (read_varint(at, end, raw) != WireError::kNone) {
      return context.damaged(place, "packed tensor data ends inside a number");
    }
    // protobuf truncates a varint to the lower 32 bits for an int32 field.
    const std::int64_t value = narrow ? static_cast<std::int32_t>(raw)
                                      : static_cast<std::int64_t>(raw);
    if (value < range.low || value > range.high) {
      return context.fail(place, "an element of a tensor is out of range",
                          std::to_string(range.low) + " to " +
                              std::to_string(range.high) + " for " +
                              std::string(ir::data_type_name(type)),
                          std::to_string(value));
    }
    ++count;
  }
  return true;
}

// Joins scattered and unpacked entries into one packed list.
Bytes repack(Context& context, Bytes proto, std::uint32_t field) {
  std::vector<std::byte> out;
  Cursor cursor(proto, schema::kTensor);
  while (cursor.next()) {
    if (cursor.field() != field) continue;
    Bytes part = cursor.bytes();
    if (!cursor.is_length()) {
      const Bytes whole = cursor.whole();
      const std::byte* at = whole.data();
      std::uint64_t tag;
      read_varint(at, whole.data() + whole.size(), tag);
      part = {at, whole.data() + whole.size()};
    }
    out.insert(out.end(), part.begin(), part.end());
  }
  return context.model.arena.copy(Bytes(out));
}

bool read_strings(Context& context, Bytes proto, std::size_t count,
                  ir::Literal& out) {
  const std::span<std::string_view> strings =
      context.model.arena.array<std::string_view>(count);
  std::size_t i = 0;
  Cursor cursor(proto, schema::kTensor);
  while (cursor.next()) {
    if (cursor.field() == tensor_field::kStringData) {
      strings[i++] = cursor.text();
    }
  }
  out.storage = ir::Storage::kStrings;
  out.strings = strings;
  return true;
}

bool check_count(Context& context, const Place& place, const ir::Literal& out,
                 std::int64_t found) {
  const std::int64_t elements = *element_count(out.dims);
  const std::optional<std::int64_t> want = entry_count(out.dtype, elements);
  if (want && *want == found) return true;
  return context.fail(place, "the data of a tensor does not fit its shape",
                      (want ? std::to_string(*want) : "more than 2^63") +
                          " entries for " + std::to_string(elements) +
                          " elements of " +
                          std::string(ir::data_type_name(out.dtype)),
                      std::to_string(found) + " entries");
}

bool read_numbers(Context& context, Bytes proto, const DataFields& data,
                  const Place& place, ir::Literal& out) {
  const std::uint32_t field = field_of(out.dtype);
  const std::optional<Bytes> view = data.view(field);
  const Bytes packed = view ? *view : repack(context, proto, field);
  std::int64_t count = 0;
  if (field == tensor_field::kFloatData || field == tensor_field::kDoubleData) {
    const std::size_t width = field == tensor_field::kFloatData ? 4 : 8;
    if (packed.size() % width != 0) {
      return context.fail(place, "packed tensor data ends inside a number",
                          "a multiple of " + std::to_string(width) + " bytes",
                          std::to_string(packed.size()) + " bytes");
    }
    count = static_cast<std::int64_t>(packed.size() / width);
  } else if (!check_varints(context, packed, place, out.dtype, count)) {
    return false;
  }
  out.storage = ir::Storage::kTyped;
  out.bytes = packed;
  return check_count(context, place, out, count);
}

// --- external ----------------------------------------------------------------

// Accepts digits only (no sign, blank or exponent), and only numbers that fit.
std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t value = 0;
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool store_entry(Context& context, const StringEntry& entry, const Place& place,
                 ir::ExternalRef& ref, unsigned& seen) {
  const bool location = entry.key == "location";
  const bool offset = entry.key == "offset";
  if (!location && !offset && entry.key != "length") return true;
  const unsigned bit = location ? 1 : offset ? 2 : 4;
  if ((seen & bit) != 0) {
    return context.fail(place, "external data has a key twice", "once",
                        quoted_name(entry.key));
  }
  seen |= bit;
  if (location) {
    ref.location = entry.value;
    return true;
  }
  const std::optional<std::int64_t> number = to_number(entry.value);
  if (!number) {
    return context.fail(place,
                        std::string(offset ? "offset" : "length") +
                            " of external data is not a number",
                        "a decimal number of 0 or more",
                        quoted_name(entry.value));
  }
  (offset ? ref.offset : ref.length) = *number;
  return true;
}

bool check_extent(Context& context, const Place& place,
                  const ir::Literal& out) {
  const ir::ExternalRef& ref = out.external;
  const std::optional<std::int64_t> want = raw_size(out);
  if (!want || (ref.length >= 0 && ref.length != *want)) {
    return context.fail(
        place, "the bytes of a tensor do not fit its shape",
        want ? std::to_string(*want) + " bytes" : "less than 2^63 bytes",
        "a length of " + std::to_string(ref.length));
  }
  Result<std::uint64_t> size = context.external->size(ref.location);
  if (!size) {
    Diagnostic& why = size.error();
    return context.fail(place, why.what, why.expected, why.found, why.hint);
  }
  const auto offset = static_cast<std::uint64_t>(ref.offset);
  if (offset > *size || static_cast<std::uint64_t>(*want) > *size - offset) {
    return context.fail(
        place, "external data is too short",
        std::to_string(*want) + " bytes at offset " +
            std::to_string(ref.offset),
        std::to_string(*size) + " bytes in " + quoted_name(ref.location));
  }
  return true;
}

}  // namespace

void DataFields::add(const Cursor& cursor) {
  Seen& seen = seen_[cursor.field()];
  ++seen.count;
  seen.packed = cursor.is_length();
  seen.payload = cursor.bytes();
}

std::size_t DataFields::kinds() const {
  return seen_.size() -
         static_cast<std::size_t>(std::ranges::count(seen_, 0u, &Seen::count));
}

std::uint32_t DataFields::first() const {
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].count > 0) return i;
  }
  return 0;
}

std::optional<Bytes> DataFields::view(std::uint32_t field) const {
  const Seen& seen = seen_[field];
  if (seen.count == 0) return Bytes();
  if (seen.count > 1 || !seen.packed) return std::nullopt;
  return seen.payload;
}

std::optional<std::int64_t> raw_size(const ir::Literal& tensor) {
  const std::optional<std::int64_t> count = element_count(tensor.dims);
  const int bits = element_bits(tensor.dtype);
  if (!count || bits == 0) return std::nullopt;
  std::int64_t bytes;  // in steps of 8 elements, which fill whole bytes
  if (__builtin_mul_overflow(*count / 8, bits, &bytes) ||
      __builtin_add_overflow(bytes, (*count % 8 * bits + 7) / 8, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

bool read_typed(Context& context, Bytes proto, const DataFields& data,
                const Place& place, ir::Literal& out) {
  const std::uint32_t field = field_of(out.dtype);
  if (data.kinds() > 1 && data.count(field) > 0) {
    context.warn(place, "a tensor stores its data twice", "one data field",
                 std::to_string(data.kinds()) +
                     " data fields; the one of its type is used");
    if (!check_spare(context, proto, place, field)) return false;
  } else if (data.kinds() > 0 && data.first() != field) {
    return context.fail(place, "the data of a tensor is in the wrong field",
                        std::string(schema::kTensor.fields[field].name) +
                            " for " +
                            std::string(ir::data_type_name(out.dtype)),
                        std::string(schema::kTensor.fields[data.first()].name));
  }
  if (data.kinds() == 0 && *element_count(out.dims) != 0) {
    return context.fail(place, "a tensor has no data",
                        std::to_string(*element_count(out.dims)) + " elements",
                        "no data field");
  }
  if (out.dtype == DataType::kString) {
    return read_strings(context, proto, data.count(field), out) &&
           check_count(context, place, out,
                       static_cast<std::int64_t>(data.count(field)));
  }
  return read_numbers(context, proto, data, place, out);
}

bool check_spare(Context& context, Bytes proto, const Place& place,
                 std::uint32_t counts) {
  Cursor cursor(proto, schema::kTensor);
  while (cursor.next()) {
    if (cursor.field() != counts && !cursor.is_whole()) {
      return context.damaged(place, "packed tensor data ends inside a number");
    }
  }
  return true;
}

bool read_external(Context& context, Bytes proto, const Place& place,
                   ir::Literal& out) {
  if (out.dtype == DataType::kString) {
    return context.fail(place, "strings cannot be external data");
  }
  if (context.external == nullptr) {
    return context.fail(place, "external data, but no folder to look for it",
                        "the folder of the model", "a model given as bytes",
                        "say where the data files are");
  }
  unsigned seen = 0;
  Cursor cursor(proto, schema::kTensor);
  while (cursor.next()) {
    if (cursor.field() != tensor_field::kExternalData) continue;
    Cursor fields(cursor.bytes(), schema::kEntry);
    const StringEntry entry = read_entry(fields);
    if (!context.finished(place, fields) ||
        !store_entry(context, entry, place, out.external, seen)) {
      return false;
    }
  }
  out.storage = ir::Storage::kExternal;
  if (!context.note_external(proto)) {
    return context.fail(place, "external data in a message that is split",
                        "each message in one piece", "several pieces");
  }
  return check_extent(context, place, out);
}

}  // namespace ruleengine::io
