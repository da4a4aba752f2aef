// Instructions of the tensor cores and copies to shared memory that go on while
// a thread does. tests/cuda/emulator/matrix.h has the same for the host.
#pragma once

#include "kernels/cuda/device/device.h"

#ifdef __CUDACC__

namespace ruleengine::kernels::device {

// sum += a * b of a warp: [16, 16] times [16, 8]. With row = lane / 4 and
// column = lane % 4 * 2, each two elements beside each other:
//   a    of [row, column], [row + 8, column], [row, column + 8], the last two
//   b    of [column, row], [column + 8, row], beside each other in a column
//   sum  of [row, column], [row + 8, column]
template <typename T>
__device__ __forceinline__ void multiply(float (&sum)[4], const u32 (&a)[4],
                                         u32 b0, u32 b1);
template <>
__device__ __forceinline__ void multiply<f16>(float (&sum)[4],
                                              const u32 (&a)[4], u32 b0,
                                              u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void multiply<bf16>(float (&sum)[4],
                                               const u32 (&a)[4], u32 b0,
                                               u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four [8, 8] of halves: lanes 8i to 8i + 7 name the rows of the i-th, and each
// lane gets [lane / 4, lane % 4 * 2] of it and the next element, or, where it
// is transposed, [lane % 4 * 2, lane / 4] and the one below.
template <bool transposes>
__device__ __forceinline__ void load_matrices(u32 (&to)[4], const void* row) {
  const auto from = static_cast<u32>(__cvta_generic_to_shared(row));
  if constexpr (transposes) {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : "r"(from)
        : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  }
}

// Copies 16 bytes to shared memory, or writes zeros there: then, too, `memory`
// is at a multiple of 16, and no nullptr. It is done when wait_copies() has
// waited for its group.
__device__ __forceinline__ void copy_later(void* shared, const void* memory,
                                           bool is_there) {
  const auto to = static_cast<u32>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(memory), "r"(is_there ? 16 : 0)
               : "memory");
}
// Ends a group.
__device__ __forceinline__ void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits for this thread's groups but the last `open` ones.
template <int open>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(open) : "memory");
}

}  // namespace ruleengine::kernels::device

#endif  // __CUDACC__
