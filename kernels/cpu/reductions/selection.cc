// Ops that choose elements by what they are.
#include "kernels/cpu/families.h"

#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/patterns.h"
#include "kernels/strided.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

template <typename T>
struct Ranked {
  T value;
  std::int64_t index;
};

// The `k` first of a line, in order.
template <typename T, typename Before>
void select(std::vector<Ranked<T>>& line, std::int64_t k, Before before) {
  const auto middle = line.begin() + k;
  if (k == 1) {
    std::iter_swap(line.begin(), std::ranges::min_element(line, before));
  } else if (k < std::ssize(line) / 16) {
    std::partial_sort(line.begin(), middle, line.end(), before);
  } else {
    if (middle != line.end()) {
      std::nth_element(line.begin(), middle, line.end(), before);
    }
    std::sort(line.begin(), middle, before);
  }
}

// Whether one of `n` numbers may come before `last`; NaN may.
template <typename T>
[[gnu::always_inline]] inline bool may_come_before(const T* x, std::int64_t n,
                                                   T last, bool largest) {
  std::uint8_t any = 0;
  if (largest) {
    for (std::int64_t i = 0; i < n; ++i) any |= !(x[i] <= last);
  } else {
    for (std::int64_t i = 0; i < n; ++i) any |= !(x[i] >= last);
  }
  return any != 0;
}

// The sizes around the axis.
struct TopKSizes {
  std::int64_t size = 0, inner = 1, k = 0;
};

// The first of a line that lies side by side, in order: as many as `best` has.
template <typename T, typename Before>
void select_few(const T* x, std::int64_t size, bool largest, Before before,
                std::vector<Ranked<T>>& best) {
  const auto k = std::ssize(best);
  for (std::int64_t j = 0; j < k; ++j) best[index_of(j)] = {x[j], j};
  std::ranges::make_heap(best, before);  // the last one is in front
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t from = k; from < size; from += kBlock) {
    const std::int64_t n = std::min(kBlock, size - from);
    bool any = false;
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      any = may_come_before(x + from, n, best.front().value, largest);
    });
    for (std::int64_t j = from; any && j < from + n; ++j) {
      const T last = best.front().value;
      // Of equal ones the earlier stays.
      if (largest ? x[j] <= last : x[j] >= last) continue;
      const Ranked<T> each{x[j], j};
      if (!before(each, best.front())) continue;
      std::ranges::pop_heap(best, before);
      best.back() = each;
      std::ranges::push_heap(best, before);
    }
  }
  std::ranges::sort_heap(best, before);
}

// Lines [begin, end) of all.
template <typename T>
void top_k_lines(const T* in, T* values, std::int64_t* indices,
                 const TopKSizes& s, bool largest, std::int64_t begin,
                 std::int64_t end, Ticker tick) {
  const bool few = s.inner == 1 && s.k <= s.size / 16;
  std::vector<Ranked<T>> line(index_of(few ? s.k : s.size));
  // Ties go to the lower index.
  const auto before = [&](const Ranked<T>& a, const Ranked<T>& b) {
    tick();
    if (is_less(a.value, b.value)) return !largest;
    if (is_less(b.value, a.value)) return largest;
    return a.index < b.index;
  };
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t outer = i / s.inner, at = i % s.inner;
    const T* from = in + outer * s.size * s.inner + at;
    if (few) {
      tick(s.size / 16);
      select_few(from, s.size, largest, before, line);
    } else {
      for (std::int64_t j = 0; j < s.size; ++j) {
        line[index_of(j)] = {from[j * s.inner], j};
      }
      select(line, s.k, before);
    }
    const std::int64_t to = outer * s.k * s.inner + at;
    for (std::int64_t j = 0; j < s.k; ++j) {
      const Ranked<T>& each = line[index_of(j)];
      if (values != nullptr) values[to + j * s.inner] = each.value;
      if (indices != nullptr) indices[to + j * s.inner] = each.index;
    }
  }
}

void top_k(Call& c, AttributeAxis axis_said, bool largest) {
  const Tensor& x = c.input(0);
  const std::size_t axis = axis_said.of(c, x.rank());
  const auto [dims, k] = top_k_shape(c, axis);
  Tensor* values = c.wants(0) ? &c.output(0, x.dtype(), dims) : nullptr;
  Tensor* indices = c.wants(1) ? &c.output(1, DataType::kInt64, dims) : nullptr;
  if (x.count() == 0 || k == 0) return;
  const TopKSizes sizes{x.dim(axis), product(x.dims(), axis + 1, x.rank()), k};
  dispatch(Numbers(), x.dtype(), [&]<typename T>() {
    c.threads().for_each(
        x.count() / sizes.size, kGrain / sizes.size,
        [&](std::int64_t begin, std::int64_t end) {
          top_k_lines(x.data<T>(), values ? values->mutable_data<T>() : nullptr,
                      indices ? indices->mutable_data<std::int64_t>() : nullptr,
                      sizes, largest, begin, end, Ticker(c.threads()));
        });
  });
}

template <typename T>
void non_zero_of(Call& c, const Tensor& x) {
  const T* in = elements<T>(x);
  const std::int64_t total = x.count();
  // Where each piece begins to write.
  Ints begins(index_of(ceil_div(total, kGrain)) + 1, 0);
  c.threads().for_each(
      total, kGrain, [&](std::int64_t begin, std::int64_t end) {
        begins[index_of(begin / kGrain) + 1] = std::count_if(
            in + begin, in + end, [](const T& v) { return !(v == T()); });
      });
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  const auto rank = static_cast<std::int64_t>(x.rank());
  const Dims dims{rank, begins.back()};
  Tensor& out = c.output(0, DataType::kInt64, dims);
  if (rank == 0) return;
  auto* to = out.mutable_data<std::int64_t>();
  std::vector<StridedAxis> axes;
  for (const std::int64_t size : x.dims()) axes.push_back({size, 0, 0});
  c.threads().for_each(
      total, kGrain, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t at = begins[index_of(begin / kGrain)];
        Walk walk(axes, begin);
        for (std::int64_t i = begin; i < end; ++i, walk.next()) {
          if (in[i] == T()) continue;
          for (std::int64_t k = 0; k < rank; ++k) {
            to[k * dims[1] + at] = walk.index(index_of(k));
          }
          ++at;
        }
      });
}

void non_zero(Call& c) {
  const Tensor& x = c.input(0);
  if (x.is_string()) return non_zero_of<String>(c, x);
  dispatch(NumbersBoolAndComplex(), x.dtype(),
           [&]<typename T>() { non_zero_of<T>(c, x); });
}

void one_hot(Call& c, AttributeAxis axis_said) {
  const Tensor& values = c.expect_count(2, 2);
  const Ints said = whole_numbers(c, c.expect_count(1, 1));
  const OneHotShape shape = one_hot_shape(c, said[0], axis_said);
  const Ints all = whole_numbers(c, c.input(0));
  Tensor& out = c.output(0, values.dtype(), shape.dims);
  if (out.count() == 0) return;
  const std::int64_t inner = shape.inner, depth = shape.depth;
  dispatch_width(values.dtype(), [&]<typename T>() {
    T* to = mutable_elements<T>(out);
    const T off = elements<T>(values)[0], on = elements<T>(values)[1];
    fill(c, to, out.count(), off);
    for (std::int64_t i = 0; i < std::ssize(all); ++i) {
      std::int64_t at = all[index_of(i)];
      if (at < 0) at += depth;
      if (at < 0 || at >= depth) continue;
      to[(i / inner * depth + at) * inner + i % inner] = on;
    }
  });
}

// Places along an axis of `size` whose condition is true.
Ints chosen_of(const Call& c, std::int64_t size) {
  const Tensor& condition = c.input(1);
  if (condition.rank() != 1 || condition.dtype() != DataType::kBool ||
      condition.count() > size) {
    c.wrong_shape(1, "bool[" + std::to_string(size) + "] or shorter");
  }
  Ints chosen;
  Ticker tick(c.threads());
  for (std::int64_t i = 0; i < condition.count(); ++i) {
    tick();
    if (condition.data<bool>()[i]) chosen.push_back(i);
  }
  return chosen;
}

// `flat`: of all elements in one row.
void compress(Call& c, bool flat, AttributeAxis axis_said) {
  const std::int64_t count = c.input(0).count();
  const Tensor x = flat ? c.input(0).reshaped({&count, 1}) : c.input(0);
  const std::size_t axis = flat ? 0 : axis_said.of(c, x.rank());
  const Ints chosen = chosen_of(c, x.dim(axis));
  Dims dims(x.dims());
  dims[axis] = std::ssize(chosen);
  Tensor& out = c.output(0, x.dtype(), dims);
  take(c, x, axis, chosen, out);
}

}  // namespace

const KernelRows kSelectionRows = {
    {"", "Compress", keeping<compress, is_flat, axis_attribute<>>,
     Adapt::kUnpack},
    {"", "NonMaxSuppression",
     keeping<non_max_suppression, flag_attribute<"center_point_box">>},
    {"", "NonZero", non_zero, Adapt::kWiden},
    {"", "OneHot", keeping<one_hot, axis_attribute<>>},
    {"", "TopK", keeping<top_k, axis_attribute<>, flag_attribute<"largest">>,
     Adapt::kWiden},
    {"", "Unique", unique, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
