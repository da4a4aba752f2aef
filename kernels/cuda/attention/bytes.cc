#include "kernels/cuda/attention/bytes.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::size_t kNumber = 8;  // bytes of one

}  // namespace

void ByteWriter::number(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < kNumber; ++i) {
    bytes_ += static_cast<char>(bits >> (8 * i) & 0xFF);
  }
}

void ByteWriter::text(std::string_view value) {
  number(static_cast<std::int64_t>(value.size()));
  bytes_ += value;
}

std::optional<std::int64_t> ByteReader::number() {
  if (rest_.size() < kNumber) return std::nullopt;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kNumber; ++i) {
    bits |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  }
  rest_.remove_prefix(kNumber);
  return static_cast<std::int64_t>(bits);
}

std::optional<std::string_view> ByteReader::text() {
  const std::optional<std::int64_t> size = number();
  if (!size || static_cast<std::uint64_t>(*size) > rest_.size()) {
    return std::nullopt;
  }
  const std::string_view found =
      rest_.substr(0, static_cast<std::size_t>(*size));
  rest_.remove_prefix(found.size());
  return found;
}

}  // namespace ruleengine::kernels::cuda
