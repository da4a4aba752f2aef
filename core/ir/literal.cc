#include "core/ir/literal.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "core/ir/literal_decode.h"

namespace ruleengine::ir {

using tensor_internal::Bytes;
using tensor_internal::LazyReader;

static_assert(std::endian::native == std::endian::little,
              "raw data is little-endian and is viewed, not converted");

std::int64_t Literal::element_count() const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  // A zero makes it empty, whatever the other sizes are.
  if (std::ranges::any_of(dims, [](std::int64_t d) { return d <= 0; })) {
    return 0;
  }
  std::int64_t count = 1;
  for (std::int64_t d : dims) {
    if (__builtin_mul_overflow(count, d, &count)) return kMost;
  }
  return count;
}

std::int64_t Literal::byte_size() const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t count = element_count();
  const std::int64_t bits = bit_width(dtype);
  if (bits >= 8) {
    std::int64_t size = 0;
    return __builtin_mul_overflow(count, bits / 8, &size) ? kMost : size;
  }
  if (bits == 0) return 0;
  const std::int64_t in_byte = 8 / bits;
  return count / in_byte + (count % in_byte != 0 ? 1 : 0);
}

Result<Bytes> raw_bytes(const Literal& tensor, ExternalData* external,
                        std::vector<std::byte>& scratch) {
  if (tensor.storage != Storage::kLazy) {
    return tensor_internal::stored_bytes(tensor, external, scratch);
  }
  std::vector<std::byte> all;
  const Status done =
      stream_bytes(tensor, external, [&](Bytes piece) -> Status {
        all.insert(all.end(), piece.begin(), piece.end());
        return {};
      });
  if (!done) return done.error();
  scratch = std::move(all);
  return Bytes(scratch);
}

Status stream_bytes(const Literal& tensor, ExternalData* external,
                    const ByteSink& sink) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  if (tensor.storage == Storage::kComputed) {
    return tensor_internal::compute(tensor, external, sink);
  }
  if (tensor.storage != Storage::kLazy) {
    std::vector<std::byte> scratch;
    const auto bytes = tensor_internal::stored_bytes(tensor, external, scratch);
    return bytes ? sink(*bytes) : Status(bytes.error());
  }
  LazyReader reader(external);
  if (const Status opened = reader.open(tensor); !opened) return opened;
  const int bits = bit_width(tensor.dtype);
  const std::size_t total = static_cast<std::size_t>(tensor.element_count()) *
                            tensor_internal::element_size(tensor.dtype);
  std::vector<std::byte> piece(std::min(kPiece, total));
  for (std::size_t at = 0; at < total; at += piece.size()) {
    piece.resize(std::min(piece.size(), total - at));
    reader.read(tensor, at, piece);
    Bytes out = piece;
    std::vector<std::byte> packed;
    if (bits < 8) {  // kPiece is a whole number of packed bytes
      packed = packed_bits(bits, piece);
      out = packed;
    }
    if (const Status written = sink(out); !written) return written;
  }
  return {};
}

namespace {

bool same_place(const Literal& a, const Literal& b) {
  const auto is_same = [](auto x, auto y) {
    return x.data() == y.data() && x.size() == y.size();
  };
  if (a.storage != b.storage) return false;
  switch (a.storage) {
    case Storage::kRaw:
    case Storage::kTyped:
      return is_same(a.bytes, b.bytes);
    case Storage::kStrings:
      return is_same(a.strings, b.strings);
    case Storage::kExternal:
      return a.external == b.external;
    case Storage::kLazy:
      return a.lazy == b.lazy;
    case Storage::kComputed:
      return a.computed == b.computed;
  }
  return false;
}

// Bits behind the last element are padding and mean nothing.
bool same_bytes(Bytes a, Bytes b, const Literal& tensor) {
  if (a.size() != b.size()) return false;
  if (a.empty()) return true;
  const int bits = bit_width(tensor.dtype);
  const auto used =
      static_cast<unsigned>(bits >= 8 ? 0 : tensor.element_count() * bits % 8);
  const std::size_t whole = a.size() - (used == 0 ? 0 : 1);
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  const auto mask = static_cast<std::byte>((1u << used) - 1);
  return used == 0 || (a.back() & mask) == (b.back() & mask);
}

}  // namespace

bool equal_bits(const Literal& a, const Literal& b, ExternalData* external) {
  if (&a == &b) return true;
  if (a.dtype != b.dtype || !std::ranges::equal(a.dims, b.dims)) return false;
  if (same_place(a, b)) return true;
  if (a.dtype == DataType::kString) {
    return std::ranges::equal(a.strings, b.strings);
  }
  std::vector<std::byte> scratch_a, scratch_b;
  const auto bytes_a = raw_bytes(a, external, scratch_a);
  if (!bytes_a) return false;
  const auto bytes_b = raw_bytes(b, external, scratch_b);
  return bytes_b && same_bytes(*bytes_a, *bytes_b, a);
}

}  // namespace ruleengine::ir
