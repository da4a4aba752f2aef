// What the ops of attention share: masks, caches of keys and values, element
// types. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_ATTENDING_H_
#define RULEENGINE_KERNELS_CPU_ATTENDING_H_

#include "kernels/cpu/flash.h"

namespace ruleengine::kernels {

// A mask that broadcasts to the scores of `a`; its last axis may be shorter
// than the keys, the rest of which are hidden then. Integers are added like
// floats. A message names input `i`.
ScoreMask mask_of(KernelContext& c, const Attending& a, std::size_t i,
                  const Tensor& mask);

// Rows after those of `past` (undefined: there is no past), all as
// [batch, heads, rows, size]. `past` is from input `i`.
Tensor with_past(KernelContext& c, std::size_t i, const Tensor& past,
                 const Tensor& rows, const HeadStrides& at, Shape dims);

// Sets what follows from a query of [batch, heads, rows, size], or of
// [batch, rows, heads * size] with the given number of heads.
void set_queries(Attending& a, const Tensor& q, std::int64_t heads);

// Sets what follows from all keys and values, of [batch, heads, rows, size];
// fails where they do not fit the queries.
void set_keys(Attending& a, const Tensor& k, const Tensor& v);

// The size of one head; fails if `heads` does not divide `hidden`.
std::int64_t head_size(std::int64_t hidden, std::int64_t heads);

// Attends, and fills output 0 of those dims. `scores` as for plain_attention.
void attend(KernelContext& c, const Attending& a, Tensor& out,
            Tensor* scores = nullptr, std::int64_t mode = 0);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_ATTENDING_H_
