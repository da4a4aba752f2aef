#include "tests/cuda/cudnn/tensor.h"

#include <cmath>
#include <limits>
#include <optional>

#include "core/ir/narrow_float.h"

namespace ruleengine::standin {
namespace {

Four four(const std::vector<std::int64_t>& sizes, const char* what) {
  if (sizes.size() != 4) {
    throw GraphFault(std::string("a tensor has not 4 ") + what);
  }
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

template <typename T>
double load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return static_cast<double>(value);
}

template <typename T>
void store(void* at, double value) {
  const T out = static_cast<T>(value);
  std::memcpy(at, &out, sizeof(out));
}

std::optional<ir::DataType> narrow_type(cudnnDataType_t type) {
  if (type == CUDNN_DATA_HALF) return ir::DataType::kFloat16;
  if (type == CUDNN_DATA_BFLOAT16) return ir::DataType::kBfloat16;
  return std::nullopt;
}

}  // namespace

TensorSpec spec_of(const Descriptor* tensor) {
  if (tensor == nullptr || tensor->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    throw GraphFault("an operation has no tensor where it needs one");
  }
  const Descriptor& d = *tensor;
  TensorSpec out;
  out.type = d.number(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  out.dims =
      four(d.numbers<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), "dims");
  out.strides =
      four(d.numbers<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES), "strides");
  out.uid = d.number<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
  out.alignment = d.number<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  out.is_virtual = d.number(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  out.is_by_value = d.number(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false);
  if (element_bytes(out.type) == 0) {
    throw GraphFault("a tensor has an unknown type");
  }
  for (const std::int64_t size : out.dims) {
    if (size < 1) throw GraphFault("a tensor has a dim below 1");
  }
  if (d.find(CUDNN_ATTR_TENSOR_UNIQUE_ID) == nullptr) {
    throw GraphFault("a tensor has no id");
  }
  const Descriptor* ragged = d.part(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
  if (ragged == nullptr) return out;
  out.offsets = std::make_shared<const TensorSpec>(spec_of(ragged));
  if (out.offsets->dims[0] != out.dims[0] + 1) {
    throw GraphFault("ragged offsets are not one more than sequences");
  }
  return out;
}

std::size_t element_bytes(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_BOOLEAN:
      return 1;
    default:
      return 0;
  }
}

double read_element(cudnnDataType_t type, const void* at) {
  if (const auto narrow = narrow_type(type)) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof(bits));
    return ir::widen(*narrow, bits);
  }
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return load<float>(at);
    case CUDNN_DATA_INT32:
      return load<std::int32_t>(at);
    case CUDNN_DATA_INT64:
      return load<std::int64_t>(at);
    default:
      return load<std::uint8_t>(at);
  }
}

void write_element(cudnnDataType_t type, void* at, double value) {
  if (const auto narrow = narrow_type(type)) {
    const auto bits = static_cast<std::uint16_t>(ir::narrow(*narrow, value));
    std::memcpy(at, &bits, sizeof(bits));
    return;
  }
  if (type == CUDNN_DATA_FLOAT) return store<float>(at, value);
  if (std::isnan(value)) value = 0;
  switch (type) {
    case CUDNN_DATA_INT32:
      return store<std::int32_t>(at, value);
    case CUDNN_DATA_INT64:
      return store<std::int64_t>(at, value);
    default:
      return store<std::uint8_t>(at, value != 0 ? 1 : 0);
  }
}

double rounded(cudnnDataType_t type, double value) {
  std::byte bytes[8];
  write_element(type, bytes, value);
  return read_element(type, bytes);
}

std::int64_t TensorMemory::place(const TensorSpec& t, const Four& at) const {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    if (at[i] < 0 || at[i] >= t.dims[i]) {
      throw GraphFault("an operation goes beyond a tensor");
    }
    if (i > 0 || t.offsets == nullptr) out += at[i] * t.strides[i];
  }
  if (t.offsets == nullptr) return out;
  return out + static_cast<std::int64_t>(read(*t.offsets, {at[0], 0, 0, 0}));
}

void* TensorMemory::address(const TensorSpec& t) const {
  const auto found = addresses.find(t.uid);
  if (found == addresses.end()) throw GraphFault("a tensor has no address");
  return found->second;
}

double TensorMemory::read(const TensorSpec& t, Four at) const {
  for (std::size_t i = 0; i < 4; ++i) {
    if (t.dims[i] == 1) at[i] = 0;
  }
  const std::int64_t i = place(t, at);
  if (t.is_virtual) {
    return virtuals_.at(t.uid)[static_cast<std::size_t>(i)];
  }
  const std::int64_t byte =
      i * static_cast<std::int64_t>(element_bytes(t.type));
  if (t.is_by_value) return read_element(t.type, values.at(t.uid).data());
  return read_element(t.type, static_cast<const std::byte*>(address(t)) + byte);
}

void TensorMemory::write(const TensorSpec& t, const Four& at, double value) {
  const std::int64_t i = place(t, at);
  if (t.is_virtual) {
    virtuals_.at(t.uid)[static_cast<std::size_t>(i)] = rounded(t.type, value);
    return;
  }
  const std::int64_t byte =
      i * static_cast<std::int64_t>(element_bytes(t.type));
  write_element(t.type, static_cast<std::byte*>(address(t)) + byte, value);
}

void TensorMemory::make(const TensorSpec& t) {
  if (!t.is_virtual) return;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < 4; ++i) last += (t.dims[i] - 1) * t.strides[i];
  virtuals_[t.uid].assign(static_cast<std::size_t>(last + 1),
                          std::numeric_limits<double>::quiet_NaN());
}

}  // namespace ruleengine::standin
