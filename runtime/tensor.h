// Tensors and other values at run time. A Tensor is a dtype, a shape and shared
// bytes: row-major, aligned to 64 where a run allocated them, in ONNX's raw
// encoding (types below a byte are packed, the first element in the lowest
// bits). Weights are views into the model. Copies share the bytes; whoever
// writes made them. The bytes are on the host, or in the memory of a backend,
// which alone reads them. There a tensor may be a view, whose elements do not
// follow each other: only nodes that ask for views get one
// (PreparedNode::takes_views). A Datum is a tensor, a sequence, or an optional
// without a value. Safe to read from many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/small_vector.h"
#include "core/ir/data_type.h"

namespace ruleengine::runtime {

using ir::DataType;
using Dims = SmallVector<std::int64_t, 6>;
using Shape = std::span<const std::int64_t>;

// The product of `dims`; throws Failure where a size is negative or the product
// is beyond what memory can hold.
std::int64_t count_of(Shape dims);
// Bytes of so many elements in the raw encoding; 0 for strings.
std::size_t bytes_of(DataType dtype, std::int64_t count);
// Quicker than std::ranges::equal for the few sizes that shapes have.
inline bool is_same_shape(Shape a, Shape b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}
// "[2,3]"; a negative size is "?", which stands for any.
std::string shape_text(Shape dims);
// "float[2,3]".
std::string text_of(DataType dtype, Shape dims);

// The elements of a tensor of strings. A run counts their bytes, in a Memory.
using String = std::pmr::string;
using Strings = std::pmr::vector<String>;

class DeviceMemory;  // runtime/memory.h

class Tensor {
 public:
  Tensor() = default;
  // `data` has bytes_of(dtype, count_of(dims)) bytes, and keeps their memory
  // alive.
  Tensor(DataType dtype, Shape dims, std::shared_ptr<const std::byte> data,
         DeviceMemory* place = nullptr);
  Tensor(Shape dims, std::shared_ptr<Strings> strings);

  DataType dtype() const { return dtype_; }
  Shape dims() const { return {dims_.data(), dims_.size()}; }
  std::size_t rank() const { return dims_.size(); }
  std::int64_t dim(std::size_t axis) const { return dims_[axis]; }
  std::int64_t count() const { return count_; }
  bool is_scalar() const { return dims_.empty(); }
  bool is_string() const { return dtype_ == DataType::kString; }
  std::string text() const { return text_of(dtype_, dims()); }

  // The memory of a backend, or nullptr: the host's.
  DeviceMemory* place() const { return place_; }
  std::size_t byte_size() const { return bytes_of(dtype_, count_); }
  std::span<const std::byte> bytes() const {
    return {data_.get(), byte_size()};
  }
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(data_.get());
  }
  template <typename T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(count_)};
  }
  // Of a tensor that the caller made.
  template <typename T>
  T* mutable_data() {
    return reinterpret_cast<T*>(const_cast<std::byte*>(data_.get()));
  }
  const Strings& strings() const { return *data<Strings>(); }
  Strings& mutable_strings() { return *mutable_data<Strings>(); }

  bool is_dense() const { return strides_ == nullptr; }
  // Of a view: the elements from one place to the next along each axis.
  Shape strides() const { return *strides_; }
  // Some of the elements, the first of them `at` elements from its own. It is
  // dense where they are what a dense tensor of these sizes has.
  Tensor view(Shape dims, Shape strides, std::int64_t at) const;

  // What keeps the bytes; it counts no uses where a model does.
  std::shared_ptr<const void> owner() const { return data_; }
  // The same bytes in another shape of as many elements; not of a view.
  Tensor reshaped(Shape dims) const;
  // The type and the shape, without bytes.
  Tensor without_bytes() const;
  // The same bytes as another type of the same width.
  Tensor as(DataType dtype) const;
  // Whether this is the only tensor with these bytes, and a run allocated them.
  bool is_sole() const;
  void mark_own() { own_ = true; }
  // Lets go of the bytes.
  void clear() { data_.reset(); }

 private:
  DataType dtype_ = DataType::kUndefined;
  bool own_ = false;
  Dims dims_;
  std::int64_t count_ = 0;
  std::shared_ptr<const std::byte> data_;  // or Strings
  DeviceMemory* place_ = nullptr;
  std::shared_ptr<const Dims> strides_;  // nullptr: dense
};

class Datum {
 public:
  enum class Kind : std::uint8_t { kAbsent, kNone, kTensor, kSequence };
  using List = std::vector<Datum>;

  Datum() = default;  // nothing was computed
  Datum(Tensor tensor) : kind_(Kind::kTensor), tensor_(std::move(tensor)) {}
  // Computed no more.
  void clear() {
    kind_ = Kind::kAbsent;
    tensor_.clear();
    items_.reset();
  }
  static Datum none();  // an optional without a value
  static Datum sequence(List items);

  Kind kind() const { return kind_; }
  bool is_absent() const { return kind_ == Kind::kAbsent; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  const Tensor& tensor() const { return tensor_; }
  Tensor& tensor() { return tensor_; }
  const List& items() const { return *items_; }
  // "float[2,3]", "a sequence of 2", "an empty optional".
  std::string text() const;

 private:
  Kind kind_ = Kind::kAbsent;
  Tensor tensor_;
  std::shared_ptr<const List> items_;
};

// Calls f(tensor) for each tensor of a value, in order.
template <typename F>
void for_each_tensor(const Datum& value, const F& f) {
  if (value.is_tensor()) return f(value.tensor());
  if (!value.is_sequence()) return;
  for (const Datum& each : value.items()) for_each_tensor(each, f);
}

// The value with f(tensor) in the place of each tensor.
template <typename F>
Datum each_tensor(const Datum& value, const F& f) {
  if (value.is_tensor()) return f(value.tensor());
  if (!value.is_sequence()) return value;
  Datum::List items;
  for (const Datum& each : value.items()) items.push_back(each_tensor(each, f));
  return Datum::sequence(std::move(items));
}

}  // namespace ruleengine::runtime
