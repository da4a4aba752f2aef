// Stack: tensors of one shape that come one after the other and become one
// tensor with an axis more, as the scan outputs of loops do. Internal to
// kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_STACK_H_
#define RULEENGINE_KERNELS_CPU_STACK_H_

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

class Stack {
 public:
  // `room`: how many are expected; it grows by doubling beyond that.
  explicit Stack(std::int64_t room = 0) : room_(room) {}

  // Fails where it does not fit those before.
  void push(const KernelContext& c, const Tensor& item);
  // Zeros of the shape of the items.
  void push_zeros(const KernelContext& c);
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // All of them along a new first axis; there must be one at least.
  Tensor take(const KernelContext& c);

 private:
  void grow(const KernelContext& c);

  std::int64_t room_ = 0, size_ = 0;
  DataType dtype_ = DataType::kUndefined;
  Dims dims_;     // of an item
  Tensor store_;  // [room, items...], elements below a byte as one each
};

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_STACK_H_
