// Reductions over axes. Rows of elements that lie side by side are reduced in
// lanes, and columns side by side; a whole tensor in pieces that are merged in
// order.
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/cpu/families.h"
#include "kernels/cpu/reductions/fold.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/cpu/reductions/reducers.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

// Elements of a piece of one long row.
constexpr std::int64_t kPiece = 1 << 16;

// The sum of a reduction, whichever it is.
struct alignas(16) AnySum {
  std::byte bytes[16];
};

template <typename Sum>
Sum* as(AnySum* sums) {
  static_assert(sizeof(Sum) <= sizeof(AnySum) &&
                std::is_trivially_copyable_v<Sum>);
  return reinterpret_cast<Sum*>(sums);
}
template <typename Sum>
const Sum* as(const AnySum* sums) {
  return reinterpret_cast<const Sum*>(sums);
}

// The loops of a reduction over elements of one type. Several sums lie side by
// side as what they are, so an array of AnySum has room for them.
struct Reducer {
  std::size_t size;  // bytes of an element
  void (*start)(AnySum* sums, std::int64_t n);
  // Takes x[0], x[step], ... into a sum.
  void (*row)(const std::byte* x, std::int64_t n, std::int64_t step,
              AnySum* sum);
  // Takes x[j], x[step + j], ... of so many rows into sum j.
  void (*columns)(const std::byte* x, std::int64_t rows, std::int64_t step,
                  std::int64_t n, AnySum* sums);
  void (*merge)(AnySum* sum, const AnySum* other);
  // The results, each of so many terms.
  void (*finish)(const AnySum* sums, std::int64_t n, std::int64_t terms,
                 std::byte* y);
};

template <typename R>
void start_sums(AnySum* sums, std::int64_t n) {
  std::uninitialized_value_construct_n(as<typename R::Sum>(sums), n);
}

template <typename R, typename T>
void add_row(const std::byte* bytes, std::int64_t n, std::int64_t step,
             AnySum* sum) {
  using Sum = R::Sum;
  const T* x = reinterpret_cast<const T*>(bytes);
  Sum& all = *as<Sum>(sum);
  if (step != 1) {
    for (std::int64_t i = 0; i < n; ++i) R::add(all, x[i * step]);
    return;
  }
  // Sums of a few bytes fill a vector in greater number.
  constexpr int kLanes = sizeof(Sum) < 8 ? 64 : kSumLanes;
  runtime::for_vectors([=, &all]() RULEENGINE_INLINE {
    R::merge(all,
             fold_lanes<kLanes>(
                 n, Sum(), [x](Sum& s, std::int64_t i) { R::add(s, x[i]); },
                 R::merge));
  });
}

template <typename R, typename T>
void add_columns(const std::byte* bytes, std::int64_t rows, std::int64_t step,
                 std::int64_t n, AnySum* sums) {
  const T* x = reinterpret_cast<const T*>(bytes);
  auto* all = as<typename R::Sum>(sums);
  const auto add = [=]<std::int64_t kRows>(std::int64_t first)
                       RULEENGINE_INLINE {
                         const T* from = x + first * step;
#pragma GCC ivdep
                         for (std::int64_t j = 0; j < n; ++j) {
                           auto sum = all[j];
                           for (std::int64_t i = 0; i < kRows; ++i)
                             R::add(sum, from[i * step + j]);
                           all[j] = sum;
                         }
                       };
  runtime::for_vectors([=]() RULEENGINE_INLINE {
    // Several rows at once load and store the sums less often.
    constexpr std::int64_t kSome = 4;
    std::int64_t i = 0;
    for (; i + kSome <= rows; i += kSome) add.template operator()<kSome>(i);
    for (; i < rows; ++i) add.template operator()<1>(i);
  });
}

template <typename R>
void merge_sums(AnySum* sum, const AnySum* other) {
  using Sum = R::Sum;
  R::merge(*as<Sum>(sum), *as<Sum>(other));
}

template <typename R, typename T>
void finish_sums(const AnySum* sums, std::int64_t n, std::int64_t terms,
                 std::byte* bytes) {
  T* y = reinterpret_cast<T*>(bytes);
  const auto* all = as<typename R::Sum>(sums);
  for (std::int64_t i = 0; i < n; ++i) y[i] = R::finish(all[i], terms);
}

template <typename R, typename T>
constexpr Reducer reducer_of() {
  using Terms = R::Terms;
  return {sizeof(T),         start_sums<Terms>,
          add_row<Terms, T>, add_columns<Terms, T>,
          merge_sums<Terms>, finish_sums<R, T>};
}

void reduce_whole(Call& c, const Reducer& r, const Tensor& x, std::byte* y) {
  const auto size = static_cast<std::int64_t>(r.size);
  std::vector<AnySum> sums(index_of(ceil_div(x.count(), kPiece)));
  c.threads().for_each(
      x.count(), kPiece, [&](std::int64_t begin, std::int64_t end) {
        AnySum* sum = &sums[index_of(begin / kPiece)];
        r.start(sum, 1);
        r.row(x.data<std::byte>() + begin * size, end - begin, 1, sum);
      });
  AnySum all;
  r.start(&all, 1);
  for (const AnySum& sum : sums) r.merge(&all, &sum);
  r.finish(&all, 1, x.count(), y);
}

// The last axis or no axis is reduced: each result from rows.
void reduce_rows(Call& c, const Reducer& r, const std::byte* x,
                 const Rows<1>& kept, const Rows<1>& gone, std::byte* y) {
  const auto size = static_cast<std::int64_t>(r.size);
  const std::int64_t n = gone.length(), step = gone.inner(0);
  const std::int64_t terms = n * gone.count();
  const auto reduce = [&](const std::byte* from, std::byte* to) {
    AnySum sum;
    r.start(&sum, 1);
    gone.for_each(0, gone.count(), [&](std::int64_t, const auto& place) {
      r.row(from + place[0] * size, n, step, &sum);
    });
    r.finish(&sum, 1, terms, to);
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
                          reduce(x + (place[0] + i * across) * size,
                                 y + (at + i) * size);
                        }
                      });
      });
}

// The last axis is kept: results that lie side by side are summed together.
void reduce_columns(Call& c, const Reducer& r, const std::byte* x,
                    const Rows<1>& kept, const Rows<1>& gone, std::byte* y) {
  const auto size = static_cast<std::int64_t>(r.size);
  const std::int64_t n = gone.length(), step = gone.inner(0);
  const std::int64_t terms = n * gone.count();
  const CutShape shape{kept.count(), terms, kept.length()};
  for_columns(
      c.threads(), shape,
      [&](std::int64_t block, std::int64_t first, std::int64_t last) {
        AnySum sums[kColumns];
        r.start(sums, last - first);
        const std::byte* from = nullptr;
        kept.for_each(block, block + 1, [&](std::int64_t, const auto& place) {
          from = x + (place[0] + first) * size;
        });
        gone.for_each(0, gone.count(), [&](std::int64_t, const auto& place) {
          r.columns(from + place[0] * size, n, step, last - first, sums);
        });
        r.finish(sums, last - first, terms,
                 y + (block * kept.length() + first) * size);
      });
}

void reduce_to(Call& c, const Reducer& r, const Tensor& x,
               const ReducedShape& s, Tensor& out) {
  auto* y = out.mutable_data<std::byte>();
  if (out.count() == 0) return;
  if (x.count() == 0) {
    if (c.run().agreed_only) fail("a reduction of nothing");
    AnySum none;
    r.start(&none, 1);
    const auto size = static_cast<std::int64_t>(r.size);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      r.finish(&none, 1, 0, y + i * size);
    }
    return;
  }
  if (out.count() == 1) return reduce_whole(c, r, x, y);
  const Rows<1> kept(s.kept, {s.kept_strides}), gone(s.gone, {s.gone_strides});
  const auto* from = x.data<std::byte>();
  if (kept.inner(0) == 1 && kept.length() >= 4 && gone.inner(0) != 1) {
    return reduce_columns(c, r, from, kept, gone, y);
  }
  reduce_rows(c, r, from, kept, gone, y);
}

template <template <typename> typename R, typename List = Numbers>
Op reduction(const Preparation& p) {
  return [axes = AxesToReduce(p)](Call& c) {
    const Tensor x = c.input(0);
    const ReducedShape shape = axes.of(c, x.dims());
    Tensor& out = c.output(0, x.dtype(), shape.result);
    dispatch(List(), x.dtype(), [&]<typename T>() {
      static constexpr Reducer kReducer = reducer_of<R<T>, T>();
      reduce_to(c, kReducer, x, shape, out);
    });
  };
}

}  // namespace

const KernelRows kReductionRows = {
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

}  // namespace ruleengine::kernels
