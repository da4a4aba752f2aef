#include "kernels/cpu/attention/attending.h"

#include <algorithm>

#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {

ScoreMask mask_of(Call& c, const Attending& a, std::size_t i,
                  const Tensor& mask) {
  const std::int64_t full[4] = {a.batch, a.heads, a.queries, a.keys};
  const auto refuse = [&] {
    c.wrong_shape(i, "one that broadcasts to " + runtime::shape_text(full));
  };
  if (mask.rank() > 4) refuse();
  ScoreMask out{.values = mask.dtype() == DataType::kBool
                              ? mask
                              : in_type(c, mask, a.q.dtype()),
                .strides = {},
                .keys = a.keys};
  const Dims steps = strides_of(mask.dims());
  for (std::size_t k = 0; k < mask.rank(); ++k) {
    const std::size_t axis = 4 - mask.rank() + k;
    const std::int64_t size = mask.dim(k);
    const bool is_last = axis == 3 && size <= a.keys;
    if (size != 1 && size != full[axis] && !is_last) refuse();
    out.strides[axis] = size == 1 ? 0 : steps[k];
    if (axis == 3) out.keys = size;
  }
  return out;
}

Tensor with_past(Call& c, std::size_t past, const Tensor& x,
                 const HeadStrides& at, std::int64_t count, const Ints& first,
                 Shape dims) {
  Tensor out = c.allocate(x.dtype(), dims);
  const std::int64_t size = dims[3], all = dims[2] * size;
  const std::int64_t old = c.has_input(past) ? c.input(past).dim(2) * size : 0;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    c.threads().for_each(
        dims[0] * dims[1], 1, [&](std::int64_t h, std::int64_t) {
          const std::int64_t b = h / dims[1];
          const std::int64_t begin =
              first[first.size() == 1 ? 0 : index_of(b)] * size;
          T* to = out.mutable_data<T>() + h * all;
          if (old != 0) std::copy_n(c.input(past).data<T>() + h * old, old, to);
          for (std::int64_t r = 0; r < count; ++r) {
            std::copy_n(x.data<T>() + at.place(b, h % dims[1], r), size,
                        to + begin + r * size);
          }
          const std::int64_t end = std::max(old, begin + count * size);
          std::fill_n(to + end, all - end, T(0));
        });
  });
  return out;
}

HeadLayout::HeadLayout(const Tensor& x, std::int64_t merged)
    : batch(x.dim(0)), heads(merged) {
  if (x.rank() == 3) {
    rows = x.dim(1);
    size = head_size(x.dim(2), heads);
    at = merged_strides(heads, rows, size);
  } else {
    heads = x.dim(1);
    rows = x.dim(2);
    size = x.dim(3);
    at = split_strides(heads, rows, size);
  }
}

void set_queries(Attending& a, const Tensor& q, std::int64_t heads) {
  const HeadLayout layout(q, heads);
  a.q = q;
  a.batch = layout.batch;
  a.heads = layout.heads;
  a.queries = layout.rows;
  a.k_size = layout.size;
  a.q_at = layout.at;
}

void set_keys(Attending& a, const Tensor& k, const Tensor& v) {
  const Dims fits{a.batch, v.dim(1), v.dim(2), a.k_size};
  if (!std::ranges::equal(k.dims(), fits)) {
    fail("wrong shape of all keys, which must fit queries and values",
         runtime::shape_text(fits), k.text());
  }
  a.k = k;
  a.v = v;
  a.k_heads = a.v_heads = k.dim(1);
  a.keys = k.dim(2);
  a.v_size = v.dim(3);
  a.k_at = split_strides(a.k_heads, a.keys, a.k_size);
  a.v_at = split_strides(a.v_heads, a.keys, a.v_size);
}

void attend(const RunContext& c, const Attending& a, Tensor& out,
            Tensor* scores, std::int64_t mode) {
  check_attending(a);
  if (a.q.dtype() == DataType::kFloat && scores == nullptr) {
    flash_attention(c, a, out);
  } else {
    plain_attention(c, a, out, scores, mode);
  }
}

}  // namespace ruleengine::kernels
