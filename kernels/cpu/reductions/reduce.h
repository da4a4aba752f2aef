// Loops along an axis. Internal to kernels/cpu.
#pragma once

#include <algorithm>

#include "kernels/reduced.h"

namespace ruleengine::kernels {

// Without an axis an op is about all elements in one row.
inline bool is_flat(const Preparation& p) { return !p.has_attribute("axis"); }

// Calls f(block, first, last) for pieces of columns [first, last) of each block
// of a shape that is cut: at most kColumns of them.
inline constexpr std::int64_t kColumns = 256;
template <typename F>
void for_columns(runtime::Threads& threads, const CutShape& s, F f) {
  const std::int64_t pieces = ceil_div(s.inner, kColumns);
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
