// Reductions over axes. Rows of elements that lie side by side are reduced in
// lanes, and columns side by side; a whole tensor in pieces that are merged in
// order.
#include <vector>

#include "kernels/cpu/cumulative.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/fold.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/reducers.h"

namespace ruleengine::kernels {
namespace {

using runtime::Adapt;
using runtime::Kernel;

// Elements of a piece of one long row.
constexpr std::int64_t kPiece = 1 << 16;

template <typename R, typename T>
R::Sum reduced_row(const T* x, std::int64_t n) {
  return fold_lanes(
      n, typename R::Sum(), [x](R::Sum& s, std::int64_t i) { R::add(s, x[i]); },
      R::merge);
}

template <typename R, typename T>
void reduce_whole(KernelContext& c, const Tensor& x, T* y) {
  std::vector<typename R::Sum> sums(
      static_cast<std::size_t>((x.count() + kPiece - 1) / kPiece));
  c.threads().for_each(x.count(), kPiece,
                       [&](std::int64_t begin, std::int64_t end) {
                         sums[static_cast<std::size_t>(begin / kPiece)] =
                             reduced_row<R>(x.data<T>() + begin, end - begin);
                       });
  typename R::Sum all;
  for (const auto& sum : sums) R::merge(all, sum);
  *y = R::finish(all, x.count());
}

// The last axis, or none, is reduced: each result from rows.
template <typename R, typename T>
void reduce_rows(KernelContext& c, const T* x, const Rows<1>& kept,
                 const Rows<1>& gone, T* y) {
  const std::int64_t n = gone.length(), step = gone.inner(0);
  const std::int64_t terms = n * gone.count();
  const auto one = [&](const T* from) {
    typename R::Sum sum;
    gone.for_each(0, gone.count(), [&](std::int64_t, const auto& place) {
      const T* row = from + place[0];
      if (step == 1) {
        R::merge(sum, reduced_row<R>(row, n));
      } else {
        for (std::int64_t i = 0; i < n; ++i) R::add(sum, row[i * step]);
      }
    });
    return R::finish(sum, terms);
  };
  const std::int64_t length = kept.length(), across = kept.inner(0);
  c.threads().for_each(
      kept.count() * length, (1 << 15) / terms + 1,
      [&](std::int64_t begin, std::int64_t end) {
        kept.for_each(begin / length, (end + length - 1) / length,
                      [&](std::int64_t at, const auto& place) {
                        const std::int64_t last = std::min(length, end - at);
                        std::int64_t i = std::max<std::int64_t>(0, begin - at);
                        for (; i < last; ++i) {
                          y[at + i] = one(x + place[0] + i * across);
                        }
                      });
      });
}

// The last axis is kept: results that lie side by side are summed together.
template <typename R, typename T>
void reduce_columns(KernelContext& c, const T* x, const Rows<1>& kept,
                    const Rows<1>& gone, T* y) {
  const std::int64_t n = gone.length(), step = gone.inner(0);
  const std::int64_t terms = n * gone.count();
  const CutShape shape{kept.count(), terms, kept.length()};
  for_columns(
      c.threads(), shape,
      [&](std::int64_t block, std::int64_t first, std::int64_t last) {
        typename R::Sum sums[kColumns];
        const T* from = nullptr;
        kept.for_each(block, block + 1, [&](std::int64_t, const auto& place) {
          from = x + place[0] + first;
        });
        gone.for_each(0, gone.count(), [&](std::int64_t, const auto& place) {
          for (std::int64_t i = 0; i < n; ++i) {
            const T* row = from + place[0] + i * step;
            for (std::int64_t j = 0; j < last - first; ++j) {
              R::add(sums[j], row[j]);
            }
          }
        });
        for (std::int64_t j = first; j < last; ++j) {
          y[block * kept.length() + j] = R::finish(sums[j - first], terms);
        }
      });
}

template <typename R, typename T>
void reduce_to(KernelContext& c, const Tensor& x, const ReducedShape& s,
               Tensor& out) {
  T* y = out.mutable_data<T>();
  if (out.count() == 0) return;
  if (x.count() == 0) {
    std::fill_n(y, out.count(), R::finish(typename R::Sum(), 0));
    return;
  }
  if (out.count() == 1) return reduce_whole<R>(c, x, y);
  const Rows<1> kept(s.kept, {s.kept_strides}), gone(s.gone, {s.gone_strides});
  if (kept.inner(0) == 1 && kept.length() >= 4 && gone.inner(0) != 1) {
    return reduce_columns<R>(c, x.data<T>(), kept, gone, y);
  }
  reduce_rows<R>(c, x.data<T>(), kept, gone, y);
}

// All axes where none is named, unless that is said to mean none.
std::vector<std::size_t> axes_to_reduce(KernelContext& c, std::size_t rank) {
  const Ints axes = c.ints_of("axes", 1).value_or(Ints());
  if (!axes.empty()) return axes_of(axes, rank);
  std::vector<std::size_t> all;
  const bool none = c.attribute_flag("noop_with_empty_axes");
  for (std::size_t i = 0; i < rank && !none; ++i) all.push_back(i);
  return all;
}

template <template <typename> typename R, typename List = Numbers>
void reduction(KernelContext& c) {
  const Tensor x = c.input(0);
  const ReducedShape shape = reduced_shape(
      x.dims(), axes_to_reduce(c, x.rank()), c.attribute_flag("keepdims"));
  Tensor& out = c.output(0, x.dtype(), shape.result);
  dispatch(List(), x.dtype(),
           [&]<typename T>() { reduce_to<R<T>, T>(c, x, shape, out); });
}

constexpr Kernel kReductionKernels[] = {
    {"", "ArgMax", arg_max, Adapt::kWiden},
    {"", "ArgMin", arg_min, Adapt::kWiden},
    {"", "CumProd", cum_prod, Adapt::kWiden},
    {"", "CumSum", cum_sum, Adapt::kWiden},
    {"", "ReduceL1", reduction<AbsoluteSum>, Adapt::kWiden},
    {"", "ReduceL2", reduction<Norm>, Adapt::kWiden},
    {"", "ReduceLogSum", reduction<LogSum>, Adapt::kWiden},
    {"", "ReduceLogSumExp", reduction<LogSumExp>, Adapt::kWiden},
    {"", "ReduceMax", reduction<Largest, NumbersAndBool>, Adapt::kWiden},
    {"", "ReduceMean", reduction<Mean>, Adapt::kWiden},
    {"", "ReduceMin", reduction<Smallest, NumbersAndBool>, Adapt::kWiden},
    {"", "ReduceProd", reduction<Product>, Adapt::kWiden},
    {"", "ReduceSum", reduction<PlainSum>, Adapt::kWiden},
    {"", "ReduceSumSquare", reduction<SquareSum>, Adapt::kWiden},
};

}  // namespace

KernelRows reduction_kernels() { return kReductionKernels; }

}  // namespace ruleengine::kernels
