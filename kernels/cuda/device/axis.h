// Which row or column of AxisArgs a thread works on.
#pragma once

#include "kernels/cuda/device/rows.h"
#include "kernels/cuda/device/softmax.h"

namespace ruleengine::kernels::device {

// The columns of a block, where inner is above 1.
struct Columns {
  i64 outer, at;  // of this lane's column; at may be beyond inner
  ColumnTeam<kAxisWarps> team;

  __device__ Columns(const AxisArgs& args, unsigned block) {
    const i64 blocks = (args.inner + kWarp - 1) / kWarp;
    outer = block / blocks;
    at = (block - outer * blocks) * kWarp + team.column();
  }
  // f(offset) for each element of the column that this thread has.
  template <typename F>
  __device__ __forceinline__ void each(const AxisArgs& args, F f) const {
    if (at >= args.inner) return;
    const i64 start = outer * args.n * args.inner + at;
// Four at once, as the compiler would, need more registers than rows do.
#pragma unroll 2
    for (i64 i = team.rank(); i < args.n; i += team.size()) {
      f(start + i * args.inner);
    }
  }
};

// f(team, row) for the row of this thread, where inner is 1.
template <typename F>
__device__ __forceinline__ void with_row(const AxisArgs& args, F f) {
  if (args.n > kAxisOfWarp) {
    f(BlockTeam(), BlockTeam().row());
  } else if (WarpTeam().row() < args.outer) {
    f(WarpTeam(), WarpTeam().row());
  }
}

}  // namespace ruleengine::kernels::device
