// The engine's own ops of projections: x w^T + b, whole and as heads
// (core/ops/dialect/projections.cc has the meanings).
#include <algorithm>

#include "core/ops/dialect.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/norms/norm_rows.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/strided.h"

namespace ruleengine::kernels {
namespace {

// x w^T for all rows of x, with `count` rows of the weight from `first` on.
template <typename T>
Tensor project(KernelContext& c, const Tensor& x, const Tensor& w,
               std::int64_t first, std::int64_t count) {
  const std::int64_t in = w.dim(1);
  Dims dims(x.dims());
  dims.back() = count;
  Tensor out = c.allocate(x.dtype(), dims);
  if (out.count() == 0) return out;
  gemm<T>(c.threads(), false, true, out.count() / count, count, in, T(1),
          x.data<T>(), in, w.data<T>() + first * in, in, T(0),
          out.mutable_data<T>(), count);
  return out;
}

// y = x + bias, or x where there is none.
template <typename T>
void add_bias(const T* x, const T* bias, std::int64_t n, T* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = bias == nullptr ? x[i] : x[i] + bias[i];
  }
}

template <typename T>
const T* bias_of(const KernelContext& c, std::size_t i) {
  return c.has_input(i) ? c.input(i).data<T>() : nullptr;
}

void linear(KernelContext& c) {
  const Tensor x = c.expect_min_rank(0, 1);
  const Tensor& w = c.expect_shape(1, Dims{-1, x.dim(x.rank() - 1)}, x.dtype());
  const std::int64_t count = w.dim(0);
  if (c.has_input(2)) c.expect_shape(2, Dims{count}, x.dtype());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    Tensor out = project<T>(c, x, w, 0, count);
    if (const T* bias = bias_of<T>(c, 2); bias && out.count() != 0) {
      T* to = out.mutable_data<T>();
      c.threads().for_each_index(
          out.count() / count, row_grain(count), [&](std::int64_t i) {
            add_bias(to + i * count, bias, count, to + i * count);
          });
    }
    c.set_output(0, std::move(out));
  });
}

struct Heads {
  std::int64_t count, size;
  std::int64_t width() const { return count * size; }
};

// Columns of [batch, rows, columns] from `first` on, plus a bias, as
// [batch, heads, rows, size].
template <typename T>
Tensor split(KernelContext& c, const Tensor& x, std::int64_t first,
             const T* bias, const Heads& heads) {
  const std::int64_t rows = x.dim(1), columns = x.dim(2), size = heads.size;
  const std::int64_t dims[] = {x.dim(0), heads.count, rows, size};
  Tensor out = c.allocate(x.dtype(), dims);
  if (out.count() == 0) return out;
  T* to = out.mutable_data<T>();
  c.threads().for_each_index(
      x.dim(0) * rows, row_grain(heads.width()), [&](std::int64_t i) {
        const T* from = x.data<T>() + i * columns + first;
        const std::int64_t b = i / rows, row = i % rows;
        for (std::int64_t h = 0; h < heads.count; ++h) {
          add_bias(from + h * size, bias == nullptr ? nullptr : bias + h * size,
                   size, to + ((b * heads.count + h) * rows + row) * size);
        }
      });
  return out;
}

// Where all three have one source, there is one product.
void in_projection(KernelContext& c) {
  constexpr std::size_t kWeight = 3, kBias = 4;
  Heads heads{c.attribute_int("num_heads"), c.attribute_int("head_dim")};
  for (const char* name : {"num_heads", "head_dim"}) {
    if (c.attribute_int(name) <= 0) c.wrong_attribute(name, "1 or more");
  }
  const std::int64_t width = checked_product(heads.count, heads.size);
  const std::int64_t all = checked_product(3, width);
  const Tensor& query = c.expect_rank(0, 3);
  const std::int64_t in = query.dim(2);
  for (const std::size_t i : {1, 2}) {
    c.expect_shape(i, Dims{-1, -1, in}, query.dtype());
  }
  c.expect_shape(kWeight, Dims{all, in}, query.dtype());
  if (c.has_input(kBias)) c.expect_shape(kBias, Dims{all}, query.dtype());
  const auto source = [&](std::size_t i) {
    return c.node().graph().input(c.node().id(), i);
  };
  const bool self = source(0) == source(1) && source(0) == source(2);
  dispatch(Floats(), query.dtype(), [&]<typename T>() {
    const Tensor& w = c.input(kWeight);
    const Tensor packed = self ? project<T>(c, query, w, 0, all) : Tensor();
    const T* bias = bias_of<T>(c, kBias);
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto place = index_of(i);
      if (!c.wants(place)) continue;
      const Tensor flat =
          self ? packed : project<T>(c, c.input(place), w, i * width, width);
      c.set_output(place,
                   split(c, flat, self ? i * width : 0,
                         bias == nullptr ? nullptr : bias + i * width, heads));
    }
  });
}

constexpr Kernel kOwnProjectionKernels[] = {
    {ops::dialect::kOwn, "Linear", linear, Adapt::kWiden},
    {ops::dialect::kOwn, "MHAInProjection", in_projection, Adapt::kWiden},
};

}  // namespace

const KernelRows kOwnProjectionRows = kOwnProjectionKernels;

}  // namespace ruleengine::kernels
