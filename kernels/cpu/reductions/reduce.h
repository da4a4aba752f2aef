// The axes that a reduction keeps and those that it sums over. Internal to
// kernels/cpu.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

struct ReducedShape {
  Dims result;      // with the axes that are kept, or all
  Dims kept, gone;  // sizes
  Dims kept_strides, gone_strides;
};

// `gone`: ascending.
inline ReducedShape reduced_shape(Shape dims,
                                  const std::vector<std::size_t>& gone,
                                  bool keepdims) {
  ReducedShape s;
  const Dims strides = strides_of(dims);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (std::ranges::binary_search(gone, i)) {
      s.gone.push_back(dims[i]);
      s.gone_strides.push_back(strides[i]);
      if (keepdims) s.result.push_back(1);
    } else {
      s.kept.push_back(dims[i]);
      s.kept_strides.push_back(strides[i]);
      s.result.push_back(dims[i]);
    }
  }
  return s;
}

// A tensor cut at an axis: `outer` blocks of `size` lines of `inner` elements.
struct CutShape {
  std::int64_t outer, size, inner;
};
inline CutShape cut_at(Shape dims, std::size_t axis) {
  return {product(dims, 0, axis), dims[axis],
          product(dims, axis + 1, dims.size())};
}

// Calls f(block, first, last) for pieces of columns [first, last) of each block
// of a shape that is cut: at most kColumns of them.
inline constexpr std::int64_t kColumns = 256;
template <typename F>
void for_columns(runtime::Threads& threads, const CutShape& s, F f) {
  const std::int64_t pieces = (s.inner + kColumns - 1) / kColumns;
  const std::int64_t work =
      std::max<std::int64_t>(1, s.size * std::min(s.inner, kColumns));
  threads.for_each_index(
      s.outer * pieces, (1 << 14) / work, [&](std::int64_t i) {
        const std::int64_t first = i % pieces * kColumns;
        f(i / pieces, first, std::min(first + kColumns, s.inner));
      });
}

// Calls f(from, to, n) for each line along the axis, which is copied where its
// elements are not side by side. No size is 0.
template <typename T, typename F>
void for_lines(const Call& c, const CutShape& s, const T* from, T* to, F f) {
  const std::int64_t grain = (1 << 13) / s.size + 1;
  if (s.inner == 1) {
    return c.threads().for_each_index(s.outer, grain, [&](std::int64_t i) {
      f(from + i * s.size, to + i * s.size, s.size);
    });
  }
  c.threads().for_each(
      s.outer * s.inner, grain, [&](std::int64_t begin, std::int64_t end) {
        Tensor row = c.allocate(kTypeOf<T>, Dims{s.size});
        T* line = row.mutable_data<T>();
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t at = i / s.inner * s.inner * s.size + i % s.inner;
          for (std::int64_t k = 0; k < s.size; ++k) {
            line[k] = from[at + k * s.inner];
          }
          f(line, line, s.size);
          for (std::int64_t k = 0; k < s.size; ++k) {
            to[at + k * s.inner] = line[k];
          }
        }
      });
}

}  // namespace ruleengine::kernels
