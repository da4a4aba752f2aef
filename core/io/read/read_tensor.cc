#include "core/io/read/parts.h"

#include "core/io/read/tensor_data.h"

namespace ruleengine::io {
namespace {

bool is_data_field(std::uint32_t field) {
  switch (field) {
    case tensor_field::kFloatData:
    case tensor_field::kInt32Data:
    case tensor_field::kStringData:
    case tensor_field::kInt64Data:
    case tensor_field::kDoubleData:
    case tensor_field::kUint64Data:
      return true;
    default:
      return false;
  }
}

std::string dims_text(std::span<const std::int64_t> dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size() && i < 16; ++i) {
    out += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  }
  return out + (dims.size() > 16 ? ",...]" : "]");
}

// What one pass over the fields of a tensor finds.
struct TensorParts {
  std::int64_t data_type = 0;
  std::uint64_t location = 0;
  std::string_view name;
  bool has_raw = false, has_segment = false;
  Bytes raw;
  DataFields data;
};

bool scan(Context& context, Bytes proto, const Place& place,
          TensorParts& parts) {
  context.ints.clear();
  Cursor cursor(proto, schema::kTensor);
  while (cursor.next()) {
    switch (cursor.field()) {
      case tensor_field::kDims:
        if (!cursor.append_integers(context.ints)) {
          return context.damaged(place, "packed dims end inside a number");
        }
        break;
      case tensor_field::kDataType:
        parts.data_type = static_cast<std::int32_t>(cursor.integer());
        break;
      case tensor_field::kName:
        parts.name = cursor.text();
        break;
      case tensor_field::kRawData:
        parts.has_raw = true;
        parts.raw = cursor.bytes();
        break;
      case tensor_field::kSegment:
        parts.has_segment = true;
        break;
      case tensor_field::kDataLocation:
        parts.location = cursor.number();
        break;
      default:
        if (is_data_field(cursor.field())) {
          parts.data.add(cursor);
        } else if (!check_field(context, cursor, place)) {
          return false;
        }
    }
  }
  return context.finished(place, cursor);
}

bool check_header(Context& context, const TensorParts& parts,
                  const Place& place) {
  const auto type = static_cast<ir::DataType>(parts.data_type);
  if (element_bits(type) == 0 && type != ir::DataType::kString) {
    return context.fail(place, "a tensor has no valid element type",
                        "a TensorProto.DataType from 1 to 28",
                        std::to_string(parts.data_type));
  }
  if (parts.has_segment) {
    context.warn(place, "a tensor is split into segments",
                 "the whole tensor in one TensorProto", "the field 'segment'");
  }
  if (parts.location > 1) {
    return context.fail(place, "unknown data location of a tensor",
                        "0 (in the model) or 1 (external)",
                        std::to_string(parts.location));
  }
  if (!element_count(context.ints)) {
    return context.fail(place, "the shape of a tensor is not possible",
                        "sizes of 0 or more whose product fits 63 bits",
                        dims_text(context.ints));
  }
  return true;
}

bool read_raw(Context& context, const TensorParts& parts, const Place& place,
              ir::Literal& out) {
  if (out.dtype == ir::DataType::kString) {
    return context.fail(place, "strings cannot be stored in raw_data",
                        "string_data", "raw_data");
  }
  const std::optional<std::int64_t> want = raw_size(out);
  if (!want || parts.raw.size() != static_cast<std::uint64_t>(*want)) {
    return context.fail(
        place, "the bytes of a tensor do not fit its shape",
        (want ? std::to_string(*want) : "more than 2^63") + " bytes for " +
            std::string(ir::data_type_name(out.dtype)) + dims_text(out.dims),
        std::to_string(parts.raw.size()) + " bytes of raw_data");
  }
  out.storage = ir::Storage::kRaw;
  out.bytes = parts.raw;
  return true;
}

bool read_data(Context& context, Bytes proto, const TensorParts& parts,
               const Place& place, ir::Literal& out) {
  if (parts.location == 1) return read_external(context, proto, place, out);
  const bool raw = parts.has_raw && !parts.raw.empty();
  if (raw && parts.data.kinds() > 0) {
    context.warn(place, "a tensor stores its data twice", "one data field",
                 "raw_data, which is used, and a typed field");
    if (!check_spare(context, proto, place, tensor_field::kRawData)) {
      return false;
    }
  }
  if (raw || (parts.has_raw && parts.data.kinds() == 0)) {
    return read_raw(context, parts, place, out);
  }
  return read_typed(context, proto, parts.data, place, out);
}

}  // namespace

std::optional<std::int64_t> element_count(std::span<const std::int64_t> dims) {
  bool empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
  }
  if (empty) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return count;
}

int element_bits(ir::DataType type) {
  // The 6-bit floats of IR version 14; no other part of the engine knows them.
  const auto number = static_cast<std::int32_t>(type);
  if (number == 27 || number == 28) return 6;
  return ir::bit_width(type);
}

bool read_tensor(Context& context, Bytes proto, const Place& place,
                 const ir::Literal*& tensor, std::string_view& name) {
  TensorParts parts;
  if (!scan(context, proto, place, parts)) return false;
  name = parts.name;
  const Place here{&place, "tensor", parts.name};
  if (!check_header(context, parts, here)) return false;
  ir::Literal* out = context.model.arena.make<ir::Literal>();
  out->dtype = static_cast<ir::DataType>(parts.data_type);
  out->dims =
      context.model.arena.copy(std::span<const std::int64_t>(context.ints));
  out->proto = proto;
  if (parts.location == 1) out->storage = ir::Storage::kExternal;
  tensor = out;
  if (parts.location == 1 &&
      (parts.data.kinds() > 0 || (parts.has_raw && !parts.raw.empty()))) {
    return context.fail(here, "a tensor stores its data twice",
                        "external data alone",
                        "external data and a data field");
  }
  return read_data(context, proto, parts, here, *out);
}

std::string_view tensor_name(Bytes proto) {
  return text_field(proto, schema::kTensor, tensor_field::kName);
}

}  // namespace ruleengine::io
