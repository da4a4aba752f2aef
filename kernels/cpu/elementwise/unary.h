// Kernels that the families of unary.cc, activation.cc, clip.cc and dropout.cc
// share. Internal to kernels/cpu.
#pragma once

#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {

// Output 0 = f(input 0), element by element, for the types of the list.
template <typename List, typename F>
void unary(Call& c, F f) {
  dispatch(List(), c.input(0).dtype(),
           [&]<typename T>() { map_unary<T, T>(c, f); });
}

// The op that does so.
template <typename List, typename F>
Op unary_op(F f) {
  return [f](Call& c) { unary<List>(c, f); };
}

// activation.cc
Op celu(const Preparation& p);
Op elu(const Preparation& p);
Op gelu(const Preparation& p);
Op hard_sigmoid(const Preparation& p);
void hard_swish(Call& c);
Op leaky_relu(const Preparation& p);
void mish(Call& c);
void prelu(Call& c);
void relu(Call& c);
Op selu(const Preparation& p);
Op shrink(const Preparation& p);
void sigmoid(Call& c);
void softplus(Call& c);
void softsign(Call& c);
Op swiglu(const Preparation& p);
Op swish(const Preparation& p);
Op thresholded_relu(const Preparation& p);

// clip.cc
void clip(Call& c);

// dropout.cc
Op dropout(const Preparation& p);

}  // namespace ruleengine::kernels
