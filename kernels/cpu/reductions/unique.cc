#include <algorithm>
#include <numeric>

#include "kernels/cpu/families.h"
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

// Equal rows of a matrix.
struct Groups {
  Ints first;    // the first row of each group
  Ints counts;   // its number of rows
  Ints inverse;  // the group of each row
};

// In ascending order, or in that of their first rows.
template <typename T>
Groups groups_of(const Call& c, const T* rows, std::int64_t count,
                 std::int64_t width, bool sorted) {
  Ticker tick(c.threads());
  const auto compare = [&](std::int64_t a, std::int64_t b) {
    const T* p = rows + a * width;
    const T* q = rows + b * width;
    for (std::int64_t i = 0; i < width; ++i) {
      tick();
      if (is_less(p[i], q[i])) return -1;
      if (is_less(q[i], p[i])) return 1;
    }
    return 0;
  };
  Ints order(index_of(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    const int sign = compare(a, b);
    return sign != 0 ? sign < 0 : a < b;
  });
  Groups out;
  out.inverse.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      out.first.push_back(order[i]);
      out.counts.push_back(0);
    }
    ++out.counts.back();
    out.inverse[index_of(order[i])] = std::ssize(out.first) - 1;
  }
  if (sorted) return out;
  // Groups are numbered anew, by their first rows.
  Ints turn(out.first.size()), place(out.first.size());
  std::iota(turn.begin(), turn.end(), 0);
  const auto at = [](const Ints& list, std::int64_t i) {
    return list[index_of(i)];
  };
  std::ranges::sort(turn, {}, [&](std::int64_t g) { return at(out.first, g); });
  Groups renamed;
  for (std::size_t i = 0; i < turn.size(); ++i) {
    place[index_of(turn[i])] = static_cast<std::int64_t>(i);
    renamed.first.push_back(at(out.first, turn[i]));
    renamed.counts.push_back(at(out.counts, turn[i]));
  }
  for (const std::int64_t g : out.inverse) {
    renamed.inverse.push_back(at(place, g));
  }
  return renamed;
}

void give(Call& c, std::size_t i, const Ints& values) {
  if (!c.wants(i)) return;
  c.set_output(i, list_of<std::int64_t>(c, values));
}

// The way back from axis_first.
std::vector<std::size_t> axis_back(std::size_t axis, std::size_t rank) {
  std::vector<std::size_t> perm;
  for (std::size_t i = 0; i < rank; ++i) {
    perm.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
  }
  return perm;
}

template <typename T>
void unique_of(Call& c, const Tensor& rows, std::size_t axis, bool sorted) {
  const std::int64_t count = rows.dim(0);
  const std::int64_t width = rows.count() == 0 ? 0 : rows.count() / count;
  // For the order, the groups and the counts.
  const Tensor room = c.allocate(DataType::kInt64, Dims{4, count});
  const Groups groups = groups_of(c, elements<T>(rows), count, width, sorted);
  Dims dims(rows.dims());
  dims[0] = std::ssize(groups.first);
  Tensor out = c.allocate(rows.dtype(), dims);
  T* to = mutable_elements<T>(out);
  for (const std::int64_t row : groups.first) {
    std::copy_n(elements<T>(rows) + row * width, width, to);
    to += width;
  }
  c.set_output(0, transposed(c, out, axis_back(axis, rows.rank())));
  give(c, 1, groups.first);
  give(c, 2, groups.inverse);
  give(c, 3, groups.counts);
}

// `flat`: of all elements in one row.
void unique_rows(Call& c, bool flat, AttributeAxis axis_said, bool sorted) {
  const Tensor& x = c.input(0);
  const std::int64_t count = x.count();
  const std::size_t axis = flat ? 0 : axis_said.of(c, x.rank());
  const Tensor rows = flat ? x.reshaped({&count, 1})
                           : transposed(c, x, axis_first(axis, x.rank()));
  if (x.is_string()) return unique_of<String>(c, rows, axis, sorted);
  dispatch(NumbersBoolAndComplex(), rows.dtype(),
           [&]<typename T>() { unique_of<T>(c, rows, axis, sorted); });
}

}  // namespace

Op unique(const Preparation& p) {
  return keeping<unique_rows, is_flat, axis_attribute<>,
                 flag_attribute<"sorted">>(p);
}

}  // namespace ruleengine::kernels
