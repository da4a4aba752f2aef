#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {
namespace {

const std::byte* bytes_of_elements(const Tensor& t) {
  return t.is_string() ? reinterpret_cast<const std::byte*>(t.strings().data())
                       : t.data<std::byte>();
}

}  // namespace

void for_each_line(Call& c, const Tensor& a, const Tensor& b, Tensor& out,
                   const BinaryLine& line) {
  if (out.count() == 0) return;
  const std::byte *x = bytes_of_elements(a), *y = bytes_of_elements(b);
  auto* to = out.mutable_data<std::byte>();
  const auto a_size = static_cast<std::int64_t>(line.a_size);
  const auto b_size = static_cast<std::int64_t>(line.b_size);
  const auto out_size = static_cast<std::int64_t>(line.out_size);
  // Most operands have the shape of the result or are one number: a single row,
  // without looking for it.
  const std::int64_t n = out.count();
  const bool whole_a = a.count() == n, whole_b = b.count() == n;
  if ((whole_a || a.count() == 1) && (whole_b || b.count() == 1)) {
    c.threads().for_each(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      line.run(whole_a ? x + begin * a_size : x, whole_a ? 1 : 0,
               whole_b ? y + begin * b_size : y, whole_b ? 1 : 0,
               to + begin * out_size, end - begin, line.f);
    });
    return;
  }
  const Rows<2> rows(out.dims(), {broadcast_strides(a.dims(), out.dims()),
                                  broadcast_strides(b.dims(), out.dims())});
  const std::int64_t sa = rows.inner(0), sb = rows.inner(1);
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
