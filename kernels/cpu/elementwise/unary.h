// Kernels that the families of unary.cc, activation.cc, clip.cc and dropout.cc
// share. Internal to kernels/cpu.
#pragma once

#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {

// Output 0 = f(input 0), element by element, for the types of the list.
template <typename List, typename F>
void unary(KernelContext& c, F f) {
  dispatch(List(), c.input(0).dtype(),
           [&]<typename T>() { map_unary<T, T>(c, f); });
}

// activation.cc
void celu(KernelContext& c);
void elu(KernelContext& c);
void gelu(KernelContext& c);
void hard_sigmoid(KernelContext& c);
void hard_swish(KernelContext& c);
void leaky_relu(KernelContext& c);
void mish(KernelContext& c);
void prelu(KernelContext& c);
void relu(KernelContext& c);
void selu(KernelContext& c);
void shrink(KernelContext& c);
void sigmoid(KernelContext& c);
void softplus(KernelContext& c);
void softsign(KernelContext& c);
void swiglu(KernelContext& c);
void swish(KernelContext& c);
void thresholded_relu(KernelContext& c);

// clip.cc
void clip(KernelContext& c);

// dropout.cc
void dropout(KernelContext& c);

}  // namespace ruleengine::kernels
