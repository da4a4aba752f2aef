// Tensors as numbers and back: every integer and float type of 8 bits and more.
#include <cstring>

#include "core/ir/narrow_float.h"
#include "core/ops/rules/fold_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;

template <typename T>
T load(const std::byte* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

double load_real(DataType type, const std::byte* at) {
  if (type == DataType::kFloat) return load<float>(at);
  if (type == DataType::kDouble) return load<double>(at);
  return ir::widen(type, ir::bit_width(type) == 8 ? load<std::uint8_t>(at)
                                                  : load<std::uint16_t>(at));
}

void store_real(DataType type, double value, std::byte* at) {
  const auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  if (type == DataType::kFloat) return put(static_cast<float>(value));
  if (type == DataType::kDouble) return put(value);
  const std::uint32_t bits = ir::narrow(type, value);
  if (ir::bit_width(type) == 8) return put(static_cast<std::uint8_t>(bits));
  return put(static_cast<std::uint16_t>(bits));
}

bool is_real(DataType type) {
  return ir::is_float(type) && ir::bit_width(type) >= 8;
}

bool is_whole(DataType type) {
  return type == DataType::kBool ||
         (ir::is_integer(type) && ir::bit_width(type) >= 8);
}

bool is_signed(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt16 ||
         type == DataType::kInt32 || type == DataType::kInt64;
}

std::int64_t load_whole(DataType type, const std::byte* at) {
  const auto width = static_cast<std::size_t>(ir::bit_width(type) / 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, width);
  if (type == DataType::kBool) return bits != 0;
  return wrap_to(type, static_cast<std::int64_t>(bits));
}

}  // namespace

std::int64_t wrap_to(DataType type, std::int64_t value) {
  if (type == DataType::kBool) return value != 0;
  const int unused = 64 - ir::bit_width(type);
  const auto up = static_cast<std::uint64_t>(value) << unused;
  return is_signed(type) ? static_cast<std::int64_t>(up) >> unused
                         : static_cast<std::int64_t>(up >> unused);
}

double round_to(DataType type, double value) {
  std::byte at[8];
  store_real(type, value, at);
  return load_real(type, at);
}

std::optional<Numbers> read_numbers(const Call& call, const ir::Literal* t) {
  if (t == nullptr || (!is_real(t->dtype) && !is_whole(t->dtype))) {
    return std::nullopt;
  }
  const auto count = count_of(t->dims, call.limit);
  if (!count) return std::nullopt;
  std::vector<std::byte> scratch;
  const auto bytes = ir::raw_bytes(*t, call.model().external.get(), scratch);
  const auto n = static_cast<std::size_t>(*count);
  const auto width = static_cast<std::size_t>(ir::bit_width(t->dtype) / 8);
  if (!bytes.ok() || bytes->size() < n * width) return std::nullopt;
  Numbers out;
  out.dtype = t->dtype;
  out.dims.assign(t->dims.begin(), t->dims.end());
  out.real = is_real(t->dtype);
  for (std::size_t i = 0; i < n; ++i) {
    const std::byte* at = bytes->data() + i * width;
    if (out.real) {
      out.reals.push_back(load_real(t->dtype, at));
      continue;
    }
    out.ints.push_back(load_whole(t->dtype, at));
    if (t->dtype == DataType::kUint64 && out.ints.back() < 0) {
      return std::nullopt;
    }
  }
  return out;
}

const ir::Literal* write_numbers(ir::Model& model, const Numbers& numbers) {
  const auto width = static_cast<std::size_t>(ir::bit_width(numbers.dtype) / 8);
  std::span<std::byte> bytes =
      model.arena.array<std::byte>(numbers.size() * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::byte* at = bytes.data() + i * width;
    if (numbers.real) {
      store_real(numbers.dtype, numbers.reals[i], at);
    } else {
      const std::int64_t v = wrap_to(numbers.dtype, numbers.ints[i]);
      std::memcpy(at, &v, width);
    }
  }
  return make_tensor(model, numbers.dtype, numbers.dims, bytes);
}

}  // namespace ruleengine::ops
