// The engine's own ops of projections: x w^T + b, whole and as heads
// (core/ops/dialect/projections.cc has the meanings), and in parts
// (runtime/joining.h).
#include <algorithm>
#include <utility>
#include <vector>

#include "core/ops/dialect.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/norms/norm_rows.h"
#include "kernels/cpu/products/weights.h"
#include "kernels/strided.h"
#include "runtime/joining.h"

namespace ruleengine::kernels {
namespace {

// Columns of x w, or of x w^T, from `first` on.
struct Projection {
  template <typename T>
  void run(const Call& c, const Tensor& x, const Matrix<T>& w,
           Tensor& out) const {
    Matrix<T> from = w;
    if (w.data != nullptr) from.data = w.at(0, first);
    weights.multiply_rows<T>(c, x, from, out);
  }

  std::int64_t first, count;
  Weights weights;
};

// Those next to each other, of one w.
class Projections {
 public:
  Projections(std::size_t input, bool transposed)
      : input_(input), transposed_(transposed) {}

  void add(std::int64_t count) {
    all_.push_back({columns_, count, {}});
    columns_ += count;
  }
  // Those with an output, if any may go without.
  void pack(const Preparation& p, bool by_outputs) {
    const Tensor* w = p.constant(input_);
    if (w == nullptr || w->rank() != 2) return;
    if (w->dim(transposed_ ? 0 : 1) != columns_) return;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (by_outputs && !p.wants(i)) continue;
      Projection& each = all_[i];
      each.weights =
          Weights::of(p, input_, transposed_, each.first, each.count);
      if (each.weights.dtype() == DataType::kUndefined) return;
    }
    packed_ = w->dtype();
    p.release(input_);
  }

  std::int64_t columns() const { return columns_; }
  std::size_t size() const { return all_.size(); }
  const Projection& operator[](std::size_t i) const { return all_[i]; }

  // Fails unless w fits rows of `terms` elements of the type.
  void expect(const Call& c, std::int64_t terms, DataType type) const {
    Dims dims{terms, columns_};
    if (transposed_) std::swap(dims[0], dims[1]);
    c.expect_shape(input_, dims, packed_ == type ? DataType::kUndefined : type);
  }
  // No data where it was packed.
  template <typename T>
  Matrix<T> matrix(const Call& c) const {
    const Tensor& w = c.input(input_);
    const bool is_packed = packed_ == kTypeOf<T>;
    return {is_packed ? nullptr : w.data<T>(), w.dim(1), transposed_};
  }

 private:
  std::size_t input_;
  bool transposed_;
  std::int64_t columns_ = 0;
  std::vector<Projection> all_;
  DataType packed_ = DataType::kUndefined;  // of weights that are released
};

Dims with_columns(const Tensor& x, std::int64_t count) {
  Dims out(x.dims());
  out.back() = count;
  return out;
}

// y = x + bias, or x where there is none.
template <typename T>
void add_bias(const T* x, const T* bias, std::int64_t n, T* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = bias == nullptr ? x[i] : x[i] + bias[i];
  }
}

// Adds the bias, if there is one, to each row.
template <typename T>
void add_bias(Call& c, const T* bias, Tensor& out) {
  if (bias == nullptr || out.count() == 0) return;
  const std::int64_t count = out.dims().back();
  T* to = out.mutable_data<T>();
  c.threads().for_each_index(
      out.count() / count, row_grain(count), [&](std::int64_t i) {
        add_bias(to + i * count, bias, count, to + i * count);
      });
}

template <typename T>
const T* bias_of(const Call& c, std::size_t i) {
  return c.has_input(i) ? c.input(i).data<T>() : nullptr;
}

void linear(Call& c, const Weights& weights) {
  const Tensor x = c.expect_min_rank(0, 1);
  const Dims dims{-1, x.dim(x.rank() - 1)};
  const bool is_packed = weights.dtype() == x.dtype();
  const Tensor& w =
      is_packed ? c.expect_shape(1, dims) : c.expect_shape(1, dims, x.dtype());
  const std::int64_t count = w.dim(0);
  if (c.has_input(2)) c.expect_shape(2, Dims{count}, x.dtype());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    Tensor& out = c.output(0, x.dtype(), with_columns(x, count));
    weights.multiply_rows<T>(c, x, {w.data<T>(), w.dim(1), true}, out);
    add_bias(c, bias_of<T>(c, 2), out);
  });
}

Weights weights_of(const Preparation& p) { return Weights::of(p, 1, true); }

// x w + row in parts, each of which is a product of its own.
class JoinedSplit {
 public:
  explicit JoinedSplit(const Preparation& p)
      : rank_(std::max<std::int64_t>(p.attribute_int("rank"), 1)),
        parts_(kWeight, p.attribute_flag("transB")) {
    constexpr std::int64_t kMost = std::int64_t{1} << 48;
    const Ints sizes = p.attribute_ints("parts");
    for (const std::int64_t size : sizes) {
      if (size < 0 || size > kMost - parts_.columns()) sizes_are_wrong(p);
      parts_.add(size);
    }
    if (sizes.size() != p.node().output_count()) sizes_are_wrong(p);
    parts_.pack(p, true);
  }

  void operator()(Call& c) const {
    const Tensor& x = c.expect_rank(0, static_cast<std::size_t>(rank_));
    parts_.expect(c, x.dims().back(), x.dtype());
    if (c.has_input(kRow)) c.expect_count(kRow, parts_.columns(), x.dtype());
    dispatch(Floats(), x.dtype(), [&]<typename T>() {
      const T* row = bias_of<T>(c, kRow);
      const Matrix<T> w = parts_.matrix<T>(c);
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!c.wants(i)) continue;
        const Projection& part = parts_[i];
        Tensor& out = c.output(i, x.dtype(), with_columns(x, part.count));
        part.run<T>(c, x, w, out);
        add_bias(c, row == nullptr ? nullptr : row + part.first, out);
      }
    });
  }

 private:
  static constexpr std::size_t kWeight = 1, kRow = 2;

  [[noreturn]] static void sizes_are_wrong(const Preparation& p) {
    p.wrong_attribute("parts", "a size of 0 or more for each output");
  }

  std::int64_t rank_;
  Projections parts_;
};

struct Heads {
  std::int64_t count, size;
  std::int64_t width() const { return count * size; }
};

// Columns of [batch, rows, columns] from `first` on, plus a bias, as
// [batch, heads, rows, size].
template <typename T>
Tensor split(const Call& c, const Tensor& x, std::int64_t first, const T* bias,
             const Heads& heads) {
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
class InProjection {
 public:
  explicit InProjection(const Preparation& p)
      : heads_{size_of(p, "num_heads"), size_of(p, "head_dim")},
        width_(checked_product(heads_.count, heads_.size)) {
    const std::int64_t all = checked_product(3, width_);
    const auto source = [&](std::size_t i) {
      return p.node().graph().input(p.node().id(), i);
    };
    is_one_ = source(0) == source(1) && source(0) == source(2);
    for (int i = 0; i < (is_one_ ? 1 : 3); ++i) {
      parts_.add(is_one_ ? all : width_);
    }
    parts_.pack(p, false);
  }

  void operator()(Call& c) const {
    const Tensor& query = c.expect_rank(0, 3);
    const std::int64_t in = query.dim(2);
    for (const std::size_t i : {1, 2}) {
      c.expect_shape(i, Dims{-1, -1, in}, query.dtype());
    }
    parts_.expect(c, in, query.dtype());
    if (c.has_input(kBias)) {
      c.expect_shape(kBias, Dims{parts_.columns()}, query.dtype());
    }
    dispatch(Floats(), query.dtype(), [&]<typename T>() { run<T>(c); });
  }

 private:
  static constexpr std::size_t kWeight = 3, kBias = 4;

  static std::int64_t size_of(const Preparation& p, const char* name) {
    if (p.attribute_int(name) <= 0) p.wrong_attribute(name, "1 or more");
    return p.attribute_int(name);
  }

  template <typename T>
  Tensor product(const Call& c, std::size_t i) const {
    const Tensor& x = c.input(i);
    Tensor out = c.allocate(x.dtype(), with_columns(x, parts_[i].count));
    parts_[i].run<T>(c, x, parts_.matrix<T>(c), out);
    return out;
  }

  template <typename T>
  void run(Call& c) const {
    const T* bias = bias_of<T>(c, kBias);
    const Tensor packed = is_one_ ? product<T>(c, 0) : Tensor();
    for (std::size_t i = 0; i < 3; ++i) {
      if (!c.wants(i)) continue;
      const std::int64_t first = std::int64_t(i) * width_;
      const Tensor flat = is_one_ ? packed : product<T>(c, i);
      c.set_output(i, split(c, flat, is_one_ ? first : 0,
                            bias == nullptr ? nullptr : bias + first, heads_));
    }
  }

  Heads heads_;
  std::int64_t width_;
  bool is_one_ = false;
  Projections parts_{kWeight, true};
};

}  // namespace

const KernelRows kOwnProjectionRows = {
    {ops::dialect::kOwn, runtime::kJoinedSplit, prepared<JoinedSplit>,
     Adapt::kWiden},
    {ops::dialect::kOwn, "Linear", keeping<linear, weights_of>, Adapt::kWiden},
    {ops::dialect::kOwn, "MHAInProjection", prepared<InProjection>,
     Adapt::kWiden},
};

}  // namespace ruleengine::kernels
