// What ops that run a subgraph share. Internal to kernels/cpu.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

// The subgraph of an attribute.
struct Body {
  Body(const Preparation& p, std::string_view attribute);

  ir::BlockId block;
  std::size_t inputs;
  std::vector<const ir::Type*> outputs;  // nullptr where none is declared
};

// A bool tensor of one element.
bool truth(const Datum& value);

// An output of a subgraph that must be a tensor.
const Tensor& tensor_of(const Datum& value);

// What the subgraph's output `i` is when it never ran, with a first axis of
// `size`, as its declared type says; sizes that are not known are 0.
Tensor never_computed(const Call& c, const Body& body, std::size_t i,
                      std::int64_t size);

// Element `at` of the first axis, without that axis. A tensor of a type below
// a byte comes unpacked; `dtype` is what it is.
Tensor element_at(const Call& c, const Tensor& x, std::int64_t at,
                  DataType dtype);

// Tensors of one shape that come one after the other and become one tensor with
// an axis more, as the scan outputs of loops do.
class Stack {
 public:
  // `room`: how many are expected; it grows by doubling beyond that.
  explicit Stack(std::int64_t room = 0) : room_(room) {}

  // Fails where it does not fit those before.
  void push(const Call& c, const Tensor& item);
  // Zeros of the shape of the items.
  void push_zeros(const Call& c);
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // All of them along a new first axis; there must be one at least.
  Tensor take(const Call& c);

 private:
  void grow(const Call& c);

  std::int64_t room_ = 0, size_ = 0;
  DataType dtype_ = DataType::kUndefined;
  Dims dims_;     // of an item
  Tensor store_;  // [room, items...], elements below a byte as one each
};

}  // namespace ruleengine::kernels
