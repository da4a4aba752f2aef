#include "kernels/cpu/control/bodies.h"

#include <algorithm>

#include "core/ir/graph.h"
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

Body::Body(const Preparation& p, std::string_view attribute)
    : block(p.block(attribute)) {
  const ir::Graph& graph = p.node().graph();
  inputs = graph.block(block).inputs.size();
  for (const ir::ValueId v : graph.block(block).outputs) {
    outputs.push_back(graph.value(v).declared);
  }
}

bool truth(const Datum& value) {
  if (!value.is_tensor() || value.tensor().dtype() != DataType::kBool ||
      value.tensor().count() != 1) {
    fail("wrong type or shape of the condition", "bool", value.text());
  }
  return value.tensor().data<bool>()[0];
}

const Tensor& tensor_of(const Datum& value) {
  if (value.is_tensor()) return value.tensor();
  fail("wrong type of an output of the subgraph", "a tensor", value.text());
}

Tensor never_computed(const Call& c, const Body& body, std::size_t i,
                      std::int64_t size) {
  const ir::Type* type = body.outputs[i];
  if (type == nullptr || !type->is_tensor() ||
      type->elem == DataType::kUndefined) {
    fail("the subgraph never ran, and does not say what type its output " +
         std::to_string(i) + " has");
  }
  Dims dims{size};
  for (const ir::Dim d : type->dims) dims.push_back(d.known() ? d.size() : 0);
  Tensor out = c.allocate(type->elem, dims);
  if (!out.is_string()) {
    std::fill_n(out.mutable_data<std::byte>(), out.byte_size(), std::byte{0});
  }
  return out;
}

Tensor element_at(const Call& c, const Tensor& x, std::int64_t at,
                  DataType dtype) {
  const Tensor out = cut(c, x, 0, at, 1).reshaped(x.dims().subspan(1));
  return runtime::packed(out, dtype, c.run());
}

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
