#include "kernels/cpu/control/bodies.h"

#include <algorithm>

#include "kernels/strided.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

Dims with_first(std::int64_t size, const Dims& dims) {
  Dims out{size};
  out.append(dims);
  return out;
}

// Elements [0, count) of `from`, at `at` of `to`.
void put(const Tensor& from, std::int64_t count, Tensor& to, std::int64_t at) {
  dispatch_width(from.dtype(), [&]<typename T>() {
    std::copy_n(elements<T>(from), count, mutable_elements<T>(to) + at);
  });
}

}  // namespace

void Stack::grow(const Call& c) {
  const std::int64_t room =
      std::max<std::int64_t>({size_ + 1, size_ == 0 ? room_ : size_ * 2, 1});
  const Dims dims = with_first(room, dims_);
  Tensor larger = c.allocate(store_.dtype(), dims);
  if (size_ > 0) put(store_, store_.count() / room_ * size_, larger, 0);
  store_ = std::move(larger);
  room_ = room;
}

void Stack::push(const Call& c, const Tensor& item) {
  if (size_ == 0) {
    dtype_ = item.dtype();
    dims_.assign(item.dims());
  }
  if (item.dtype() != dtype_ || !std::ranges::equal(item.dims(), dims_)) {
    fail("the outputs of two rounds have different types or shapes",
         runtime::text_of(dtype_, dims_), item.text());
  }
  const Tensor bytes = runtime::unpacked(item, c.run());
  if (size_ == 0) store_ = bytes;  // for its type
  if (size_ == 0 || size_ == room_) grow(c);
  put(bytes, bytes.count(), store_, size_ * bytes.count());
  ++size_;
}

void Stack::push_zeros(const Call& c) {
  if (size_ == 0) fail("there is no item yet to take the shape from");
  if (size_ == room_) grow(c);
  const std::int64_t count = store_.count() / room_;
  dispatch_width(store_.dtype(), [&]<typename T>() {
    std::fill_n(mutable_elements<T>(store_) + size_ * count, count, T());
  });
  ++size_;
}

Tensor Stack::take(const Call& c) {
  const Dims dims = with_first(size_, dims_);
  Tensor out = std::move(store_);
  if (size_ != room_) {
    Tensor exact = c.allocate(out.dtype(), dims);
    put(out, exact.count(), exact, 0);
    out = std::move(exact);
  }
  size_ = 0;
  return runtime::packed(out, dtype_, c.run());
}

}  // namespace ruleengine::kernels
