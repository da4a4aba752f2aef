#include "kernels/cpu/attention/rotation.h"

#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/rotary.h"

namespace ruleengine::kernels {
namespace {

template <typename T>
void turn(const Rotation& r, const T* x, const T* cosines, const T* sines,
          T* y) {
  const std::int64_t half = r.turned / 2;
  const std::int64_t step = r.interleaved ? 2 : 1;
  const std::int64_t other = r.interleaved ? 1 : half;
  for (std::int64_t i = 0; i < half; ++i) {
    const T a = x[i * step], b = x[i * step + other];
    y[i * step] = cosines[i] * a - sines[i] * b;
    y[i * step + other] = sines[i] * a + cosines[i] * b;
  }
  std::copy(x + r.turned, x + r.size, y + r.turned);
}

}  // namespace

void check_rotation(const Rotation& r) {
  expect_turned(r.turned, r.size, r.cosines, r.sines);
  const std::int64_t known =
      r.turned == 0 ? 0 : r.cosines.count() / (r.turned / 2);
  for (const std::int64_t p : r.positions) {
    if (r.turned != 0 && (p < 0 || p >= known)) {
      fail("a position is out of range", "below " + std::to_string(known),
           std::to_string(p));
    }
  }
}

void rotate(Call& c, const Rotation& r, const Tensor& x, Tensor& out) {
  if (x.dtype() != r.cosines.dtype()) {
    fail("wrong type of the cosines",
         std::string(ir::data_type_name(x.dtype())), r.cosines.text());
  }
  if (out.count() == 0) return;
  const std::int64_t rows = r.batch * r.rows;
  const std::int64_t row_size = std::max<std::int64_t>(1, r.heads * r.size);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    T* to = out.mutable_data<T>();
    c.threads().for_each_index(rows, kGrain / row_size, [&](std::int64_t i) {
      const std::int64_t b = i / r.rows, row = i % r.rows;
      const std::int64_t angle =
          r.turned == 0 ? 0 : r.position(b, row) * (r.turned / 2);
      const std::int64_t from = b * r.at.batch + row * r.at.row;
      const std::int64_t into = b * r.out_at.batch + row * r.out_at.row;
      for (std::int64_t h = 0; h < r.heads; ++h) {
        turn(r, x.data<T>() + from + h * r.at.head, r.cosines.data<T>() + angle,
             r.sines.data<T>() + angle, to + into + h * r.out_at.head);
      }
    });
  });
}

}  // namespace ruleengine::kernels
