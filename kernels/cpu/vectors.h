// How wide the vectors of this machine are, for kernels that have a version for
// each width.
#ifndef RULEENGINE_KERNELS_CPU_VECTORS_H_
#define RULEENGINE_KERNELS_CPU_VECTORS_H_

namespace ruleengine::kernels {

// 512 (x86-64-v4), 256 (x86-64-v3) or 128 bits. RULEENGINE_VECTOR_BITS of the
// environment asks for narrower ones, so that one machine tests all versions.
int vector_bits();

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_VECTORS_H_
