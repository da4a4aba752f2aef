#include "kernels/cpu/elementwise.h"

namespace ruleengine::kernels {

void for_each_line(KernelContext& c, const Tensor& a, const Tensor& b,
                   Tensor& out, const BinaryLine& line) {
  if (out.count() == 0) return;
  const auto* x = a.data<std::byte>();
  const auto* y = b.data<std::byte>();
  auto* to = out.mutable_data<std::byte>();
  const Rows<2> rows(out.dims(), {broadcast_strides(a.dims(), out.dims()),
                                  broadcast_strides(b.dims(), out.dims())});
  const std::int64_t sa = rows.inner(0), sb = rows.inner(1);
  const auto a_size = static_cast<std::int64_t>(line.a_size);
  const auto b_size = static_cast<std::int64_t>(line.b_size);
  const auto out_size = static_cast<std::int64_t>(line.out_size);
  // Elements [first, last) of a row.
  const auto run = [&](std::int64_t at, const auto& from, std::int64_t first,
                       std::int64_t last) {
    line.run(x + (from[0] + first * sa) * a_size, sa,
             y + (from[1] + first * sb) * b_size, sb,
             to + (at + first) * out_size, last - first, line.f);
  };
  for_each_piece(c, rows, run);
}

}  // namespace ruleengine::kernels
