#include "runtime/tensor.h"

#include <cassert>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

// No machine has more bytes.
constexpr std::int64_t kMost = std::int64_t{1} << 47;

}  // namespace

std::string shape_text(Shape dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    out += i > 0 ? "," : "";
    out += dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return out + "]";
}

std::int64_t count_of(Shape dims) {
  std::int64_t count = 1;
  bool is_empty = false, too_large = false;
  for (const std::int64_t d : dims) {
    if (d < 0) fail("a size is negative", "0 or more", std::to_string(d));
    if (d == 0) {
      is_empty = true;
    } else if (d > kMost / count) {
      too_large = true;
    } else {
      count *= d;
    }
  }
  if (is_empty) return 0;
  if (too_large) {
    fail_limit(Remedy::kNone, "a tensor is larger than any memory",
               std::to_string(kMost) + " elements at most", shape_text(dims));
  }
  return count;
}

std::size_t bytes_of(DataType dtype, std::int64_t count) {
  const auto bits = static_cast<std::size_t>(ir::bit_width(dtype));
  return (static_cast<std::size_t>(count) * bits + 7) / 8;
}

std::string text_of(DataType dtype, Shape dims) {
  std::string out(ir::data_type_name(dtype));
  return dims.empty() ? out : out + shape_text(dims);
}

Tensor::Tensor(DataType dtype, Shape dims,
               std::shared_ptr<const std::byte> data, DeviceMemory* place)
    : dtype_(dtype),
      dims_(dims),
      count_(count_of(dims)),
      data_(std::move(data)),
      place_(place) {}

Tensor::Tensor(Shape dims, std::shared_ptr<Strings> strings)
    : dtype_(DataType::kString),
      dims_(dims),
      count_(count_of(dims)),
      data_(strings, reinterpret_cast<const std::byte*>(strings.get())) {
  assert(strings->size() == static_cast<std::size_t>(count_));
}

Tensor Tensor::view(Shape dims, Shape strides, std::int64_t at) const {
  Tensor out = *this;
  out.dims_.assign(dims);
  out.count_ = count_of(dims);
  if (out.count_ == 0) at = 0;
  const std::byte* first =
      data_.get() + at * static_cast<std::int64_t>(bytes_of(dtype_, 1));
  out.data_ = {data_, first};
  // What reads dense tensors relies on how blocks are aligned.
  bool is_dense = reinterpret_cast<std::uintptr_t>(first) % 64 == 0;
  std::int64_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    is_dense = is_dense && (dims[i] == 1 || strides[i] == step);
    step *= dims[i];
  }
  const bool has_strides = !is_dense && out.count_ > 0;
  out.strides_ = has_strides ? std::make_shared<const Dims>(strides) : nullptr;
  return out;
}

Tensor Tensor::reshaped(Shape dims) const {
  assert(is_dense());
  Tensor out = *this;
  out.dims_.assign(dims);
  assert(count_of(dims) == count_);
  return out;
}

Tensor Tensor::without_bytes() const {
  Tensor out = *this;
  out.own_ = false;
  out.data_ = nullptr;
  out.strides_ = nullptr;
  return out;
}

Tensor Tensor::as(DataType dtype) const {
  assert(ir::bit_width(dtype) == ir::bit_width(dtype_));
  Tensor out = *this;
  out.dtype_ = dtype;
  return out;
}

bool Tensor::is_sole() const { return own_ && data_.use_count() == 1; }

Datum Datum::none() {
  Datum out;
  out.kind_ = Kind::kNone;
  return out;
}

Datum Datum::sequence(List items) {
  Datum out;
  out.kind_ = Kind::kSequence;
  out.items_ = std::make_shared<const List>(std::move(items));
  return out;
}

std::string Datum::text() const {
  switch (kind_) {
    case Kind::kAbsent:
      return "nothing";
    case Kind::kNone:
      return "an empty optional";
    case Kind::kTensor:
      return tensor_.text();
    case Kind::kSequence:
      return "a sequence of " + std::to_string(items_->size());
  }
  return {};
}

}  // namespace ruleengine::runtime
