// Prints types and tensors.
#include <fmt/format.h>

#include <cstring>

#include "core/ir/element_types.h"
#include "core/text/numbers.h"
#include "core/text/read/parser.h"
#include "core/text/words.h"
#include "core/text/write/printer.h"

namespace ruleengine::text {
namespace {

std::string elem_text(std::uint64_t number) {
  return std::string(
      data_type_name(static_cast<ir::DataType>(static_cast<int>(number))));
}

std::string encoded_dim(Bytes proto) {
  Cursor f(proto, schema::kDimension);
  std::string out = "?";
  while (f.next()) {
    if (f.field() == dimension_field::kValue) out = std::to_string(f.number());
    if (f.field() == dimension_field::kParam && !f.text().empty()) {
      out = name_text(f.text());
    }
  }
  return out;
}

// Prints a TypeProto.Tensor, or a sparse one.
std::string encoded_tensor(Bytes proto) {
  std::string elem = elem_text(0), shape = "[]";
  Cursor f(proto, schema::kTypeTensor);
  while (f.next()) {
    if (f.field() == 1) elem = elem_text(f.number());
    if (f.field() != 2) continue;
    shape.clear();
    Cursor dims(f.bytes(), schema::kShape);
    while (dims.next()) {
      if (dims.field() == 1) {
        shape += (shape.empty() ? "[" : ",") + encoded_dim(dims.bytes());
      }
    }
    if (!shape.empty()) shape += "]";
  }
  return elem + shape;
}

std::string encoded_opaque(Bytes proto) {
  std::string domain, name;
  Cursor f(proto, schema::kTypeOpaque);
  while (f.next()) {
    if (f.field() == 1) domain = qualified_text(f.text());
    if (f.field() == 2) name = qualified_text(f.text());
  }
  return "opaque(" + domain + (domain.empty() ? "" : ",") + name + ")";
}

// Prints a TypeProto.
std::string encoded_type(Bytes proto, int depth) {
  if (depth > kMaxNesting) return "?";
  Cursor f(proto, schema::kType);
  std::string out = "?";
  while (f.next()) {
    const bool map = f.field() == type_field::kMap;
    if (f.field() == type_field::kTensor) out = encoded_tensor(f.bytes());
    if (f.field() == type_field::kOpaque) out = encoded_opaque(f.bytes());
    if (f.field() == type_field::kSparse) {
      out = "sparse_tensor(" + encoded_tensor(f.bytes()) + ")";
    }
    if (!map && f.child() != &schema::kTypeElement) continue;
    std::string key, inner = "?";
    Cursor element(f.bytes(), *f.child());
    while (element.next()) {
      if (element.child() == &schema::kType) {
        inner = encoded_type(element.bytes(), depth + 1);
      } else if (map && element.field() == 1) {
        key = elem_text(element.number()) + ", ";
      }
    }
    const bool sequence = f.field() == type_field::kSequence;
    out = (map ? "map(" : sequence ? "seq(" : "optional(") + key + inner + ")";
  }
  return out;
}

}  // namespace

std::string encoded_type_text(Bytes proto) { return encoded_type(proto, 0); }

std::string type_text(const ir::Model& model, const ir::Type* type) {
  if (type == nullptr) return "?";
  if (!type->is_tensor()) return encoded_type(type->other, 0);
  std::string out(data_type_name(type->elem));
  if (!type->has_shape) return out + "[]";
  if (type->dims.empty()) return out;
  const char* separator = "[";
  for (ir::Dim d : type->dims) {
    out += separator;
    separator = ",";
    if (d.known()) {
      out += std::to_string(d.size());
    } else {
      out += model.dims.is_fresh(d) ? "?" : name_text(model.dims.text(d));
    }
  }
  return out + "]";
}

namespace {

template <typename T>
T element(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

std::int64_t small_element(ir::DataType type, std::span<const std::byte> bytes,
                           std::size_t i) {
  const auto bits = static_cast<std::size_t>(bit_width(type));
  const auto byte = static_cast<unsigned>(bytes[i * bits / 8]);
  const std::int64_t value = (byte >> (i * bits % 8)) & ((1u << bits) - 1);
  const bool negative =
      (type == ir::DataType::kInt4 || type == ir::DataType::kInt2) &&
      (value >> (bits - 1)) != 0;
  return negative ? value - (std::int64_t{1} << bits) : value;
}

// Prints floats of 16 bits and less as their bits, as ONNX does.
std::string element_text(ir::DataType type, std::span<const std::byte> bytes,
                         std::size_t i) {
  switch (type) {
    case ir::DataType::kFloat:
    case ir::DataType::kComplex64:
      return number_text(element<float>(bytes, i));
    case ir::DataType::kDouble:
    case ir::DataType::kComplex128:
      return number_text(element<double>(bytes, i));
    default:
      break;
  }
  std::string text;
  const bool is_integer = ir::visit_type(
      ir::IntegerTypes(), type,
      [&]<typename T>() { text = std::to_string(element<T>(bytes, i)); });
  if (is_integer) return text;
  if (bit_width(type) == 16) {
    return std::to_string(element<std::uint16_t>(bytes, i));
  }
  if (bit_width(type) == 8) {
    return std::to_string(element<std::uint8_t>(bytes, i));
  }
  return std::to_string(small_element(type, bytes, i));
}

std::string reference_text(const ir::ExternalRef& ref) {
  std::string out = "[\"location\": " + quoted_text(ref.location);
  if (ref.offset != 0) {
    out += ", \"offset\": \"" + std::to_string(ref.offset) + "\"";
  }
  if (ref.length >= 0) {
    out += ", \"length\": \"" + std::to_string(ref.length) + "\"";
  }
  return out + "]";
}

}  // namespace

std::string tensor_type_text(const ir::Literal& tensor) {
  std::string out(data_type_name(tensor.dtype));
  if (tensor.dims.empty()) return out;
  return fmt::format("{}[{}]", out, fmt::join(tensor.dims, ","));
}

std::string tensor_text(const ir::Literal& tensor, ir::ExternalData* external,
                        const PrintOptions& options) {
  return tensor_type_text(tensor) + " " + data_text(tensor, external, options);
}

std::string data_text(const ir::Literal& tensor, ir::ExternalData* external,
                      const PrintOptions& options) {
  const bool outside = tensor.storage == ir::Storage::kExternal;
  if (outside && (!options.weights || external == nullptr)) {
    return reference_text(tensor.external);
  }
  const std::int64_t count = tensor.element_count();
  if (!options.weights && count > options.max_elements) return "{...}";
  if (tensor.dtype == ir::DataType::kString) {
    return "{" + joined(tensor.strings, quoted_text) + "}";
  }
  std::vector<std::byte> scratch;
  const auto bytes = raw_bytes(tensor, external, scratch);
  if (!bytes) return "{...}";
  const bool complex = tensor.dtype == ir::DataType::kComplex64 ||
                       tensor.dtype == ir::DataType::kComplex128;
  const auto numbers = static_cast<std::size_t>(complex ? 2 * count : count);
  std::string out = "{";
  for (std::size_t i = 0; i < numbers; ++i) {
    if (i != 0) out += ", ";
    out += element_text(tensor.dtype, *bytes, i);
  }
  return out + "}";
}

}  // namespace ruleengine::text
