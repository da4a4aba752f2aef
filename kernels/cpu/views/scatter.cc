// Ops that write elements or slices to where indices say. They write in the
// order of the indices, so the last of equal indices wins.
#include <algorithm>
#include <cmath>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/number.h"
#include "kernels/cpu/views/indices.h"
#include "kernels/strided.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

enum class Reduction : std::uint8_t { kNone, kAdd, kMul, kMax, kMin };

Reduction reduction_of(const Preparation& p) {
  return choice_of<Reduction>(p, "reduction",
                              {"none", "add", "mul", "max", "min", ""});
}

// Integers wrap around; a NaN stays.
template <typename T>
T reduced(Reduction reduction, T a, T b) {
  if (reduction == Reduction::kMax || reduction == Reduction::kMin) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
    }
    return reduction == Reduction::kMax ? std::max(a, b) : std::min(a, b);
  }
  return reduction == Reduction::kAdd ? Add()(a, b) : Mul()(a, b);
}

// Runtimes differ in which of two updates of one place stays.
void expect_no_twice(Reduction reduction, Ints places) {
  if (reduction != Reduction::kNone) return;
  std::ranges::sort(places);
  if (std::ranges::adjacent_find(places) != places.end()) {
    fail("two updates of one place");
  }
}

// Calls move(to, from, write) with the elements as the type that the reduction
// computes in; `write` puts one element into another.
template <typename F>
void with_reduction(Call& c, Reduction reduction, F move) {
  const Tensor& x = c.input(0);
  const Tensor& updates = c.expect_type(2, x.dtype());
  if (reduction == Reduction::kNone) {
    return dispatch_width(x.dtype(), [&]<typename T>() {
      const T* from = elements<T>(updates);
      T* to = mutable_elements<T>(output_copy(c));
      move(to, from, [](T& a, const T& b) { a = b; });
    });
  }
  const bool is_narrow = ir::is_narrow_float(x.dtype());
  const DataType dtype = x.dtype();
  const Tensor wide = runtime::widened(updates, c.run());
  Tensor result =
      is_narrow ? runtime::widened(x, c.run()) : Tensor(output_copy(c));
  dispatch(NumbersAndBool(), result.dtype(), [&]<typename T>() {
    move(result.mutable_data<T>(), wide.data<T>(),
         [&](T& a, const T& b) { a = reduced(reduction, a, b); });
  });
  if (is_narrow) c.set_output(0, runtime::narrowed(result, dtype, c.run()));
}

void scatter_elements(Call& c, std::int64_t axis, Reduction reduction) {
  const Tensor& where = c.input(1);
  c.expect_shape(2, where.dims());
  const ElementPlaces places(c, c.input(0), where, axis);
  if (c.run().agreed_only) {
    Ints all;
    places.for_each(0, places.count(),
                    [&](std::int64_t, std::int64_t to) { all.push_back(to); });
    expect_no_twice(reduction, std::move(all));
  }
  with_reduction(c, reduction, [&](auto* to, const auto* from, auto write) {
    Ticker tick(c.threads());
    places.for_each(0, places.count(), [&](std::int64_t i, std::int64_t place) {
      tick();
      write(to[place], from[i]);
    });
  });
}

void scatter_nd(Call& c, Reduction reduction) {
  const SliceShape shape = slice_shape(c, 0);
  const SlicePlaces places(c, shape);
  c.expect_shape(2, shape.named);
  if (c.run().agreed_only) expect_no_twice(reduction, places.all());
  const std::int64_t inner = c.input(2).count() == 0 ? 0 : places.inner();
  with_reduction(c, reduction, [&](auto* to, const auto* from, auto write) {
    Ticker tick(c.threads());
    for (std::int64_t i = 0; i < places.count(); ++i) {
      tick(inner);
      auto* slice = to + places[i];
      const auto* update = from + i * inner;
      for (std::int64_t k = 0; k < inner; ++k) write(slice[k], update[k]);
    }
  });
}

void tensor_scatter(Call& c, AttributeAxis axis, bool circular) {
  const CacheSizes sizes = cache_sizes(c, axis);
  Ints begins(index_of(sizes.batch), 0);
  if (c.has_input(2) && sizes.batch > 0) {
    c.expect_count(2, sizes.batch);
    begins = c.ints(2);
  }
  for (std::int64_t& begin : begins) {
    if (begin < 0 || (!circular && begin > sizes.length - sizes.update)) {
      c.wrong_value(2, "0 to " + std::to_string(sizes.length - sizes.update),
                    std::to_string(begin));
    }
    begin %= sizes.length;
  }
  const Tensor& update = c.input(1);
  dispatch_width(update.dtype(), [&]<typename T>() {
    const T* from = elements<T>(update);
    T* to = mutable_elements<T>(output_copy(c));
    Ticker tick(c.threads());
    for (std::int64_t row = 0; row < sizes.batch * sizes.rows; ++row) {
      tick(sizes.update * sizes.inner);
      const std::int64_t at = begins[index_of(row / sizes.rows)];
      const std::int64_t head = std::min(sizes.update, sizes.length - at);
      T* line = to + row * sizes.length * sizes.inner;
      std::copy_n(from, head * sizes.inner, line + at * sizes.inner);
      std::copy_n(from + head * sizes.inner,
                  (sizes.update - head) * sizes.inner, line);
      from += sizes.update * sizes.inner;
    }
  });
}

Op prepare_tensor_scatter(const Preparation& p) {
  const bool circular = p.choice("mode", {"linear", "circular"}) == "circular";
  return [axis = AttributeAxis(p), circular](Call& c) {
    tensor_scatter(c, axis, circular);
  };
}

constexpr Kernel::Prepare kScatterElements =
    keeping<scatter_elements, int_attribute<"axis">, reduction_of>;
}  // namespace

const KernelRows kScatterRows = {
    {"", "Scatter", kScatterElements, Adapt::kUnpack},
    {"", "ScatterElements", kScatterElements, Adapt::kUnpack},
    {"", "ScatterND", keeping<scatter_nd, reduction_of>, Adapt::kUnpack},
    {"", "TensorScatter", prepare_tensor_scatter, Adapt::kUnpack},
};

}  // namespace ruleengine::kernels
