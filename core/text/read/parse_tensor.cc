// The part of Parser that reads the data of tensors.
#include <charconv>
#include <cstring>
#include <limits>

#include "core/ir/narrow_float.h"
#include "core/text/numbers.h"
#include "core/text/read/parser.h"

namespace ruleengine::text {
namespace {

using ir::DataType;

template <typename T>
void put(std::vector<std::byte>& out, T value) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

bool is_signed(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt16 ||
         type == DataType::kInt32 || type == DataType::kInt64 ||
         type == DataType::kInt4 || type == DataType::kInt2;
}

// Whether `value` is an integer of `bits` bits.
bool fits(std::int64_t value, int bits, bool with_sign) {
  if (bits == 64) return true;
  const std::int64_t high = std::int64_t{1} << (with_sign ? bits - 1 : bits);
  return value < high && value >= (with_sign ? -high : 0);
}

bool is_complex(DataType type) {
  return type == DataType::kComplex64 || type == DataType::kComplex128;
}

void put_bits(DataType type, std::uint64_t value, std::vector<std::byte>& out) {
  const int bits = bit_width(type);
  std::byte bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.insert(out.end(), bytes, bytes + (bits < 8 ? 1 : bits / 8));
}

// False when `token` is not a number of that type.
bool put_real(DataType type, std::string_view token,
              std::vector<std::byte>& out) {
  if (type == DataType::kFloat || type == DataType::kComplex64) {
    const auto value = to_float(token);
    if (value) put(out, *value);
    return value.has_value();
  }
  const auto value = to_double(token);
  if (!value) return false;
  if (ir::is_narrow_float(type)) {
    put_bits(type, ir::narrow(type, *value), out);
  } else {
    put(out, *value);
  }
  return true;
}

template <typename T>
bool to_whole(std::string_view token, T& value) {
  const char* const end = token.data() + token.size();
  const auto [at, error] = std::from_chars(token.data(), end, value);
  return error == std::errc() && at == end;
}

bool put_integer(DataType type, std::string_view token,
                 std::vector<std::byte>& out) {
  if (type == DataType::kUint64) {
    std::uint64_t value = 0;
    const bool ok = to_whole(token, value);
    put(out, value);
    return ok;
  }
  std::int64_t value = 0;
  const bool ok = to_whole(token, value);
  put_bits(type, static_cast<std::uint64_t>(value), out);
  const int bits = type == DataType::kBool ? 1 : bit_width(type);
  return ok && fits(value, bits, is_signed(type));
}

}  // namespace

bool Parser::tensor(const TypeAst& type, const ir::Literal*& out) {
  auto* data = model_.arena.make<ir::Literal>();
  data->dtype = type.elem;
  out = data;
  if (!tensor_dims(type, *data)) return false;
  if (is('[')) return tensor_external(*data);
  if (!expect('{', "before the elements of a tensor")) return false;
  if (type.elem == DataType::kString) return tensor_strings(*data);
  return tensor_data(*data);
}

bool Parser::tensor_dims(const TypeAst& type, ir::Literal& out) {
  if (type.field != 1 || !type.has_shape) {
    return fail_at(type.at, "a constant has no tensor type of known shape",
                   "a type such as float[2,3], or float for a scalar",
                   type.field == 1 ? "a type without a shape"
                                   : "a type that is no tensor");
  }
  std::vector<std::int64_t> sizes;
  for (const DimAst& d : type.dims) {
    if (d.size < 0) {
      return fail_at(type.at, "the shape of a constant is not known",
                     "only sizes",
                     d.symbol.empty() ? "'?'" : quoted_name(d.symbol));
    }
    sizes.push_back(d.size);
  }
  out.dims = model_.arena.copy(std::span<const std::int64_t>(sizes));
  if (out.byte_size() == std::numeric_limits<std::int64_t>::max()) {
    return fail_at(type.at, "a constant is too large");
  }
  return true;
}

bool Parser::no_more(const ir::Literal& tensor, std::size_t count,
                     std::size_t at) {
  const bool complex = is_complex(tensor.dtype);
  const std::int64_t wanted = tensor.element_count() * (complex ? 2 : 1);
  if (static_cast<std::int64_t>(count) == wanted) return true;
  return fail_at(at, "the elements of a tensor do not fit its shape",
                 std::to_string(wanted) + (complex ? " (two each)" : ""),
                 std::to_string(count));
}

bool Parser::tensor_data(ir::Literal& out) {
  const std::size_t at = lexer_.peek().at;
  std::vector<std::byte> bytes;
  std::size_t count = 0;
  while (!is('}')) {
    if (!element(out.dtype, bytes)) return false;
    ++count;
    if (!accept(',')) break;
  }
  if (!expect('}', "after the elements of a tensor") ||
      !no_more(out, count, at)) {
    return false;
  }
  const int bits = bit_width(out.dtype);
  if (bits < 8) bytes = ir::packed_bits(bits, bytes);
  out.bytes = model_.arena.copy(std::span<const std::byte>(bytes));
  return true;
}

bool Parser::element(DataType type, std::vector<std::byte>& out) {
  const Token token = lexer_.peek();
  if (token.kind == TokenKind::kDots) {
    return fail_at(token.at, "the elements of a tensor were left out",
                   "all elements", "'...'",
                   "print the model again with its weights");
  }
  const bool is_int = token.kind == TokenKind::kInt;
  const bool real =
      is_int || token.kind == TokenKind::kFloat ||
      (token.kind == TokenKind::kName && is_float_word(token.text));
  if (!real) return fail(token, "an element of the tensor, or '}'");
  // For floats of 16 bits and less an integer gives the bits, as in ONNX.
  const bool number = ir::is_float(type) || is_complex(type);
  const bool ok = number && !(is_int && ir::is_narrow_float(type))
                      ? put_real(type, token.text, out)
                      : put_integer(type, token.text, out);
  if (!ok) {
    return fail(token, "a number of type " + std::string(data_type_name(type)));
  }
  lexer_.take();
  return true;
}

bool Parser::tensor_strings(ir::Literal& out) {
  const std::size_t at = lexer_.peek().at;
  std::vector<std::string_view> strings;
  while (!is('}')) {
    if (!string(strings.emplace_back(), "an element")) return false;
    if (!accept(',')) break;
  }
  if (!expect('}', "after the elements of a tensor") ||
      !no_more(out, strings.size(), at)) {
    return false;
  }
  out.storage = ir::Storage::kStrings;
  out.strings = model_.arena.copy(std::span<const std::string_view>(strings));
  return true;
}

// ["location": "weights.bin", "offset": "0", "length": "16"]
bool Parser::tensor_external(ir::Literal& out) {
  const std::size_t at = lexer_.take().at;
  out.storage = ir::Storage::kExternal;
  if (out.dtype == DataType::kString) {
    return fail_at(at, "strings cannot be external data");
  }
  do {
    std::string_view key, value;
    const std::size_t entry = lexer_.peek().at;
    if (!string(key, "a key of external data") ||
        !expect(':', "after a key of external data") ||
        !string(value, "a value of external data")) {
      return false;
    }
    if (key == "location") out.external.location = value;
    if (key != "offset" && key != "length") continue;
    std::int64_t number = 0;
    if (!to_whole(value, number) || number < 0) {
      return fail_at(entry, "external data has no valid " + std::string(key),
                     "0 or more", quoted_name(value));
    }
    (key == "offset" ? out.external.offset : out.external.length) = number;
  } while (accept(','));
  if (out.external.location.empty()) {
    return fail_at(at, "external data has no location");
  }
  return expect(']', "after external data");
}

}  // namespace ruleengine::text
