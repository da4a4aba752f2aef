// Kernels of one operand. Internal to kernels/cpu.
#pragma once

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/keeping.h"

namespace ruleengine::kernels {

// Output 0 = f(input 0), element by element, for the types of the list.
template <typename List, typename F>
void unary(Call& c, F f) {
  dispatch(List(), c.input(0).dtype(),
           [&]<typename T>() { map_unary<T, T>(c, f); });
}

// The op of a function of floats, and of attributes in the type of these.
template <auto kFunction, AttributeName... kNames>
Op floats(const Preparation& p) {
  const auto f = [... said = p.attribute_float(kNames)](auto v) {
    return kFunction(v, static_cast<decltype(v)>(said)...);
  };
  return [f](Call& c) { unary<Floats>(c, f); };
}

}  // namespace ruleengine::kernels
