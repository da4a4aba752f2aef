// Einsum: operands are contracted pair by pair, each pair as a batch of matrix
// products; the pair with the smallest result comes first.
#include "kernels/cpu/families.h"

#include <algorithm>
#include <set>

#include "kernels/cpu/products/einsum_equation.h"
#include "kernels/cpu/products/matrix.h"
#include "kernels/cpu/reductions/fold.h"

namespace ruleengine::kernels {
namespace {

using Labels = std::vector<Label>;

bool is_in(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

// An operand with each label once.
struct Labelled {
  Tensor tensor;
  Labels labels;
  Dims dims, strides;  // of each label

  bool has(Label label) const { return is_in(labels, label); }
  std::size_t at(Label label) const {
    return index_of(std::ranges::find(labels, label) - labels.begin());
  }
};

Labelled whole(Tensor tensor, Labels labels) {
  Labelled v{std::move(tensor), std::move(labels), {}, {}};
  v.dims = Dims(v.tensor.dims());
  v.strides = strides_of(v.tensor.dims());
  return v;
}

// A label that is repeated takes the diagonal; one that is stretched is left
// out.
Labelled view_of(const Tensor& x, const Labels& labels, const Equation& e) {
  Labelled v{x, {}, {}, {}};
  const Dims strides = strides_of(x.dims());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t size = e.sizes.at(labels[i]);
    if (x.dim(i) == 1 && size != 1) continue;
    if (v.has(labels[i])) {
      v.strides[v.at(labels[i])] += strides[i];
      continue;
    }
    v.labels.push_back(labels[i]);
    v.dims.push_back(size);
    v.strides.push_back(strides[i]);
  }
  return v;
}

// The sizes and strides of some labels.
struct Axes {
  Dims dims, strides;
};
Axes axes_with(const Labelled& v, const Labels& labels) {
  Axes out;
  for (const Label label : labels) {
    out.dims.push_back(v.dims[v.at(label)]);
    out.strides.push_back(v.strides[v.at(label)]);
  }
  return out;
}

// The labels of `v` for which `f` holds.
template <typename F>
Labels pick(const Labelled& v, F f) {
  Labels out;
  std::ranges::copy_if(v.labels, std::back_inserter(out), f);
  return out;
}

// A contiguous view with the labels in this order; summed over all others.
template <typename T>
Labelled arranged(Call& c, const Labelled& v, const Labels& order) {
  const Axes kept = axes_with(v, order);
  const Labels gone = pick(v, [&](Label l) { return !is_in(order, l); });
  const Dims& dims = kept.dims;
  if (gone.empty() && std::ranges::equal(kept.strides, strides_of(dims))) {
    return whole(v.tensor.reshaped(dims), order);
  }
  Tensor out = c.allocate(v.tensor.dtype(), dims);
  const Axes summed = axes_with(v, gone);
  const Rows<1> to(dims, {kept.strides});
  const Rows<1> sum(summed.dims, {summed.strides});
  using Sum = SumType<T>;
  const auto total = [&](const T* from, Ticker& tick) {
    Sum all = 0;
    sum.for_each(0, sum.count(), [&](std::int64_t, const auto& place) {
      tick(sum.length());
      for (std::int64_t i = 0; i < sum.length(); ++i) {
        all += static_cast<Sum>(from[place[0] + i * sum.inner(0)]);
      }
    });
    return static_cast<T>(all);
  };
  T* y = out.mutable_data<T>();
  const std::int64_t grain =
      (1 << 14) / (to.length() * sum.length() * sum.count() + 1) + 1;
  c.threads().for_each(
      to.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        Ticker tick(c.threads());
        to.for_each(begin, end, [&](std::int64_t at, const auto& place) {
          const T* from = v.tensor.data<T>() + place[0];
          for (std::int64_t i = 0; i < to.length(); ++i) {
            const T* x = from + i * to.inner(0);
            y[at + i] = gone.empty() ? *x : total(x, tick);
          }
        });
      });
  return whole(std::move(out), order);
}

Labels joined_labels(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A view as a batch of matrices; where it already lies so, transposed or not,
// it is not copied.
template <typename T>
Matrix<T> as_matrices(Call& c, Labelled& v, const Labels& batch,
                      const Labels& rows, const Labels& columns) {
  const auto count = [&](const Labels& labels) {
    return product(axes_with(v, labels).dims);
  };
  const std::int64_t height = count(rows), width = count(columns);
  const Labels transposed = joined_labels(joined_labels(batch, columns), rows);
  const Axes axes = axes_with(v, transposed);
  if (std::ranges::equal(axes.strides, strides_of(axes.dims))) {
    return {v.tensor.data<T>(), height, true};
  }
  v = arranged<T>(c, v, joined_labels(joined_labels(batch, rows), columns));
  return {v.tensor.data<T>(), width};
}

// The product of two operands, summed over the labels that are not used later.
template <typename T>
Labelled contracted(Call& c, Labelled a, Labelled b, const Labels& needed) {
  const auto in = [](const Labelled& v) {
    return [&](Label l) { return v.has(l); };
  };
  const auto is_needed = [&](Label l) { return is_in(needed, l); };
  // Labels of one operand that are not used later are summed first.
  const auto useful = [&](const Labelled& v, const Labelled& other) {
    return pick(v, [&](Label l) { return is_needed(l) || other.has(l); });
  };
  const Labels of_a = useful(a, b), of_b = useful(b, a);
  if (of_a.size() < a.labels.size()) a = arranged<T>(c, a, of_a);
  if (of_b.size() < b.labels.size()) b = arranged<T>(c, b, of_b);
  const Labels batch =
      pick(a, [&](Label l) { return in(b)(l) && is_needed(l); });
  const Labels sum =
      pick(a, [&](Label l) { return in(b)(l) && !is_needed(l); });
  const Labels rows = pick(a, [&](Label l) { return !b.has(l); });
  const Labels columns = pick(b, [&](Label l) { return !a.has(l); });

  const Axes batch_axes = axes_with(a, batch), row_axes = axes_with(a, rows),
             column_axes = axes_with(b, columns), sum_axes = axes_with(a, sum);
  const std::int64_t m = product(row_axes.dims);
  const std::int64_t n = product(column_axes.dims);
  const std::int64_t k = product(sum_axes.dims);
  Dims dims = batch_axes.dims;
  for (const std::int64_t d : row_axes.dims) dims.push_back(d);
  for (const std::int64_t d : column_axes.dims) dims.push_back(d);
  Tensor out = c.allocate(a.tensor.dtype(), dims);
  const Matrix<T> left = as_matrices<T>(c, a, batch, rows, sum);
  const Matrix<T> right = as_matrices<T>(c, b, batch, sum, columns);
  const std::int64_t count = product(batch_axes.dims);
  const BatchShape shape{m, n, k, Rows<2>({&count, 1}, {Dims{1}, Dims{1}})};
  multiply_batch<T>(c.threads(), shape, left, right, out.mutable_data<T>());
  return whole(std::move(out),
               joined_labels(joined_labels(batch, rows), columns));
}

// Labels that the result or another operand than i and j has.
Labels needed_after(const std::vector<Labelled>& views, const Equation& e,
                    std::size_t i, std::size_t j) {
  std::set<Label> all(e.result.begin(), e.result.end());
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (v == i || v == j) continue;
    all.insert(views[v].labels.begin(), views[v].labels.end());
  }
  return {all.begin(), all.end()};
}

// Elements of the product of two operands, roughly.
double result_size(const Labelled& a, const Labelled& b, const Labels& needed) {
  double size = 1;
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    if (is_in(needed, a.labels[i])) size *= double(a.dims[i]);
  }
  for (std::size_t i = 0; i < b.labels.size(); ++i) {
    const bool counted = a.has(b.labels[i]);
    if (!counted && is_in(needed, b.labels[i])) size *= double(b.dims[i]);
  }
  return size;
}

// Beyond so many operands, the first two are next.
constexpr std::size_t kMostChosen = 16;

std::pair<std::size_t, std::size_t> next_pair(
    const std::vector<Labelled>& views, const Equation& e) {
  std::pair<std::size_t, std::size_t> best{0, 1};
  if (views.size() > kMostChosen) return best;
  double least = -1;
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (std::size_t j = i + 1; j < views.size(); ++j) {
      const double size =
          result_size(views[i], views[j], needed_after(views, e, i, j));
      if (least < 0 || size < least) {
        least = size;
        best = {i, j};
      }
    }
  }
  return best;
}

template <typename T>
Tensor evaluate(Call& c, std::vector<Labelled> views, const Equation& e) {
  while (views.size() > 1) {
    const auto [i, j] = next_pair(views, e);
    const Labels needed = needed_after(views, e, i, j);
    Labelled product = contracted<T>(c, views[i], views[j], needed);
    views.erase(views.begin() + static_cast<std::ptrdiff_t>(j));
    views[i] = std::move(product);
  }
  return arranged<T>(c, views[0], e.result).tensor;
}

void sum_products(Call& c, const EinsumTerms& terms) {
  std::vector<Shape> shapes;
  const DataType dtype = c.input(0).dtype();
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    shapes.push_back(c.expect_type(i, dtype).dims());
  }
  const Equation e = equation_of(terms, shapes);
  Dims dims;
  bool is_empty = false;
  for (const Label label : e.result) dims.push_back(e.sizes.at(label));
  for (const auto& [label, size] : e.sizes) is_empty = is_empty || size == 0;
  if (is_empty) {
    Tensor& out = c.output(0, dtype, dims);
    std::fill_n(out.mutable_data<std::byte>(), out.byte_size(), std::byte{0});
    return;
  }
  std::vector<Labelled> views;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    views.push_back(view_of(c.input(i), e.operands[i], e));
  }
  dispatch(Numbers(), dtype, [&]<typename T>() {
    c.set_output(0, evaluate<T>(c, std::move(views), e));
  });
}

}  // namespace

Op einsum(const Preparation& p) {
  p.need_attribute("equation");
  auto terms =
      parse_terms(p.attribute_string("equation"), p.node().input_count());
  return [terms = std::move(terms)](Call& c) { sum_products(c, terms); };
}

}  // namespace ruleengine::kernels
