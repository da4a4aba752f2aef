// Conversions between narrow types and those that loops compute in. Throws
// Failure. Pure functions over tensors.
#pragma once

#include "runtime/run.h"
#include "runtime/vectors.h"

namespace ruleengine::runtime {

// Numbers of 16 bits and fewer as float, and back, rounded half to even; other
// types stay as they are.
Tensor widened(const Tensor& t, KernelRun& run);
Tensor narrowed(const Tensor& t, DataType to, KernelRun& run);
// Of float16 alone.
void floats_of_halves(const std::uint16_t* in, float* out, std::int64_t n);
void halves_of_floats(const float* in, std::uint16_t* out, std::int64_t n);
// Elements below a byte as a byte each (signed ones sign-extended; of floats
// the bits), and back; other types stay as they are.
Tensor unpacked(const Tensor& t, KernelRun& run);
Tensor packed(const Tensor& t, DataType to, KernelRun& run);

// f(element) for each element of a tensor of From, as elements To of type `to`.
// In vectors: compiled for each width of them.
template <typename From, typename To, bool kInVectors = false, typename F>
Tensor mapped(const Tensor& t, DataType to, KernelRun& run, F f) {
  Tensor out = allocate(run, to, t.dims());
  const From* in = t.data<From>();
  To* result = out.mutable_data<To>();
  constexpr std::int64_t kGrain = 1 << 14;
  run.threads->for_each(
      t.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kInVectors) {
          for_vectors([&]() RULEENGINE_INLINE {
            map_line(in + begin, result + begin, end - begin, f);
          });
        } else {
          for (std::int64_t i = begin; i < end; ++i) result[i] = f(in[i]);
        }
      });
  return out;
}

// Whether elements of the type have less than a byte.
inline bool is_packed(DataType type) {
  const int bits = ir::bit_width(type);
  return bits > 0 && bits < 8;
}

}  // namespace ruleengine::runtime
