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

Tensor with_past(Call& c, std::size_t i, const Tensor& past, const Tensor& rows,
                 const HeadStrides& at, Shape dims) {
  const bool has_past = past.dtype() != DataType::kUndefined;
  if (has_past && past.dtype() != rows.dtype()) {
    c.wrong_type(i, std::string(ir::data_type_name(rows.dtype())));
  }
  if (has_past && (past.rank() != 4 || past.dim(0) != dims[0] ||
                   past.dim(1) != dims[1] || past.dim(3) != dims[3])) {
    c.wrong_shape(i, runtime::shape_text(Dims{dims[0], dims[1], -1, dims[3]}));
  }
  const std::int64_t old = has_past ? past.dim(2) : 0;
  const std::int64_t heads = dims[0] * dims[1];
  const std::int64_t total[] = {dims[0], dims[1], old + dims[2], dims[3]};
  if (!has_past && at.row == dims[3]) return rows.reshaped(total);
  Tensor out = c.allocate(rows.dtype(), total);
  dispatch(Floats(), rows.dtype(), [&]<typename T>() {
    const std::int64_t kept = old * dims[3];
    const std::int64_t per_head = kept + dims[2] * dims[3];
    c.threads().for_each(heads, 1, [&](std::int64_t h, std::int64_t) {
      T* to = out.mutable_data<T>() + h * per_head;
      if (has_past) std::copy_n(past.data<T>() + h * kept, kept, to);
      const T* from =
          rows.data<T>() + h / dims[1] * at.batch + h % dims[1] * at.head;
      for (std::int64_t r = 0; r < dims[2]; ++r) {
        std::copy_n(from + r * at.row, dims[3], to + kept + r * dims[3]);
      }
    });
  });
  return out;
}

std::int64_t head_size(std::int64_t hidden, std::int64_t heads) {
  if (heads <= 0) {
    fail("wrong number of heads", "1 or more", std::to_string(heads));
  }
  if (hidden % heads != 0) {
    fail("wrong hidden size",
         "a multiple of " + std::to_string(heads) + ", the number of heads",
         std::to_string(hidden));
  }
  return hidden / heads;
}

void set_queries(Attending& a, const Tensor& q, std::int64_t heads) {
  const bool merged = q.rank() == 3;
  a.q = q;
  a.batch = q.dim(0);
  a.heads = merged ? heads : q.dim(1);
  a.queries = q.dim(merged ? 1 : 2);
  a.k_size = merged ? head_size(q.dim(2), heads) : q.dim(3);
  a.q_at = merged ? merged_strides(a.heads, a.queries, a.k_size)
                  : split_strides(a.heads, a.queries, a.k_size);
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
