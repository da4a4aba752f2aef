#include "core/ir/literal_decode.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "core/ir/evaluator.h"

namespace ruleengine::ir::tensor_internal {
namespace {

// Reads the varint at `at` and moves `at` behind it; none when it runs over the
// end or is longer than 10 bytes.
std::optional<std::uint64_t> varint(const std::byte*& at,
                                    const std::byte* end) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at != end && shift < 70; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*at++);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Types stored in float_data or double_data, with the same bytes as raw data.
bool is_fixed(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble ||
         type == DataType::kComplex64 || type == DataType::kComplex128;
}

std::string type_text(const Literal& t) {
  return std::to_string(t.element_count()) + " elements of " +
         std::string(data_type_name(t.dtype));
}

std::string bytes_text(std::size_t n) { return std::to_string(n) + " bytes"; }

// Decodes one varint for each `width` bytes of `to`.
bool decode(Bytes from, std::size_t width, bool is_bool,
            std::span<std::byte> to) {
  const std::byte* at = from.data();
  const std::byte* const end = at + from.size();
  for (std::size_t i = 0; i < to.size(); i += width) {
    std::optional<std::uint64_t> value = varint(at, end);
    if (!value) return false;
    if (is_bool) value = *value != 0 ? 1 : 0;
    std::memcpy(to.data() + i, &*value, width);
  }
  return at == end;
}

}  // namespace

Diagnostic bad_tensor(std::string what, std::string expected,
                      std::string found) {
  return {.what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found)};
}

Status compute(const Literal& tensor, ExternalData* external,
               const ByteSink& sink) {
  const Computed& from = *tensor.computed;
  Status passed;
  const Status done = from.evaluator->evaluate(
      *from.what, external, std::numeric_limits<std::size_t>::max(),
      [&](std::size_t output, const Literal& result, const auto&) {
        const bool fits = output == 0 && result.dtype == tensor.dtype &&
                          result.element_count() == tensor.element_count();
        passed = fits ? sink(result.bytes)
                      : bad_tensor("a constant is not computed as inferred",
                                   type_text(tensor), type_text(result));
      });
  return done ? passed : done;
}

Result<Bytes> stored_bytes(const Literal& tensor, ExternalData* external,
                           std::vector<std::byte>& scratch) {
  if (bit_width(tensor.dtype) == 0) {
    return bad_tensor("a tensor without numbers has no raw bytes", {},
                      std::string(data_type_name(tensor.dtype)));
  }
  const auto size = static_cast<std::size_t>(tensor.byte_size());
  Bytes bytes = tensor.bytes;
  if (tensor.storage == Storage::kComputed) {
    const Status done =
        compute(tensor, external, [&](Bytes computed) -> Status {
          scratch.assign(computed.begin(), computed.end());
          return {};
        });
    if (!done) return done.error();
    bytes = scratch;
  }
  if (tensor.storage == Storage::kExternal) {
    if (external == nullptr) {
      return bad_tensor("external data cannot be read here", {},
                        printable(tensor.external.location));
    }
    auto read = external->read(tensor.external, tensor.byte_size());
    if (!read) return read.error();
    bytes = *read;
  } else if (tensor.storage == Storage::kTyped && !is_fixed(tensor.dtype)) {
    // A varint has at least one byte: this check avoids a huge allocation for a
    // false size.
    const auto bits = static_cast<std::size_t>(bit_width(tensor.dtype));
    const std::size_t width = bits < 8 ? 1 : bits / 8;
    const bool enough = tensor.bytes.size() >= size / width;
    if (enough) scratch.resize(size);
    if (!enough || !decode(tensor.bytes, width, tensor.dtype == DataType::kBool,
                           scratch)) {
      return bad_tensor(
          "the data of a tensor does not fit its shape",
          std::to_string(size / width) + " packed integers",
          bytes_text(tensor.bytes.size()) + " that do not hold as many");
    }
    bytes = scratch;
  }
  if (bytes.size() != size) {
    return bad_tensor("the data of a tensor does not fit its shape",
                      bytes_text(size), bytes_text(bytes.size()));
  }
  return bytes;
}

}  // namespace ruleengine::ir::tensor_internal

namespace ruleengine::ir {

std::vector<std::byte> unpacked_bits(int bits,
                                     std::span<const std::byte> packed,
                                     std::int64_t count) {
  const auto width = static_cast<unsigned>(bits);
  const unsigned in_byte = 8 / width;
  const auto mask = static_cast<std::byte>((1u << width) - 1);
  std::vector<std::byte> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto shift = static_cast<unsigned>(i % in_byte) * width;
    out[i] = (packed[i / in_byte] >> shift) & mask;
  }
  return out;
}

std::vector<std::byte> packed_bits(int bits,
                                   std::span<const std::byte> elements) {
  const auto width = static_cast<unsigned>(bits);
  const unsigned in_byte = 8 / width;
  const auto mask = static_cast<std::byte>((1u << width) - 1);
  std::vector<std::byte> out((elements.size() + in_byte - 1) / in_byte);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto shift = static_cast<unsigned>(i % in_byte) * width;
    out[i / in_byte] |= (elements[i] & mask) << shift;
  }
  return out;
}

}  // namespace ruleengine::ir
