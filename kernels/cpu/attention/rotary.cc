// RotaryEmbedding of the standard, and what it shares with other ops.
#include "kernels/rotary.h"

#include <algorithm>

#include "kernels/cpu/attention/attending.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

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

// `turned`: 0 for whole heads.
void rotary_embedding(Call& c, std::int64_t heads, std::int64_t turned,
                      bool interleaved) {
  const Tensor x = c.input(0);
  Tensor& y = c.output(0, x.dtype(), x.dims());
  if (x.count() == 0) return;
  Rotation r{HeadLayout(c.expect_rank(0, 3, 4), heads)};
  r.turned = turned == 0 ? r.size : turned;
  r.interleaved = interleaved;
  const bool has_positions = c.has_input(3);
  r.cosines = c.expect_rank(1, has_positions ? 2 : 3);
  r.sines = c.input(2);
  const std::int64_t count = r.batch * r.rows;
  if (has_positions) {
    c.expect_count(3, count);
    r.positions = c.ints(3);
    for (std::int64_t& p : r.positions) {
      if (p < 0) p += r.cosines.dim(0);
    }
  } else {
    // Rows of cosines of [batch, rows, half], each axis of which may be 1.
    const std::int64_t bs = r.cosines.dim(0), rs = r.cosines.dim(1);
    expect_angles(c, 1, r.batch, r.rows);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t b = bs == 1 ? 0 : i / r.rows;
      r.positions.push_back(b * rs + (rs == 1 ? 0 : i % r.rows));
    }
  }
  check_rotation(r);
  rotate(c, r, x, y);
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
          r.turned == 0 ? 0 : r.positions[index_of(i)] * (r.turned / 2);
      for (std::int64_t h = 0; h < r.heads; ++h) {
        const std::int64_t at = r.at.place(b, h, row);
        turn(r, x.data<T>() + at, r.cosines.data<T>() + angle,
             r.sines.data<T>() + angle, to + at);
      }
    });
  });
}

const KernelRows kRotaryRows = {
    {"", "RotaryEmbedding",
     keeping<rotary_embedding, int_attribute<"num_heads">,
             int_attribute<"rotary_embedding_dim">,
             flag_attribute<"interleaved">>,
     Adapt::kWiden},
};

}  // namespace ruleengine::kernels
