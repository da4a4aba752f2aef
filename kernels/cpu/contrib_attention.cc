// Attention and MultiHeadAttention of ONNX Runtime's domain.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/attending.h"
#include "kernels/cpu/cast.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/strided.h"

namespace ruleengine::kernels {
namespace {

// A mask of integers as numbers to add, [batch, 1, 1 or queries, keys]: lengths
// of the batch, ends and begins, or 0 for each key that is hidden.
Tensor padding(KernelContext& c, const Attending& a, std::size_t input) {
  const Ints given = c.ints(input);
  const Tensor& mask = c.input(input);
  const bool by_query = mask.rank() == 3;
  const std::int64_t rows = by_query ? a.queries : 1;
  const std::int64_t dims[] = {a.batch, 1, rows, a.keys};
  const bool by_length = mask.rank() == 1 &&
                         (mask.dim(0) == a.batch || mask.dim(0) == 2 * a.batch);
  const std::int64_t wanted[] = {a.batch, a.queries, a.keys};
  const bool by_key =
      (by_query && std::ranges::equal(mask.dims(), Shape(wanted))) ||
      (mask.rank() == 2 && mask.dim(0) == a.batch && mask.dim(1) == a.keys);
  if (!by_length && !by_key) {
    c.wrong_shape(input, runtime::shape_text(Dims{a.batch}) + ", " +
                             runtime::shape_text(Dims{2 * a.batch}) + ", " +
                             runtime::shape_text(Dims{a.batch, a.keys}) +
                             " or " + runtime::shape_text(wanted));
  }
  Tensor out = c.allocate(DataType::kFloat, dims);
  const float hidden = c.attribute_float("mask_filter_value", -10000.0f);
  float* to = out.mutable_data<float>();
  for (std::int64_t i = 0; i < out.count(); ++i) {
    bool is_seen;
    if (by_length) {
      const auto b = index_of(i / a.keys);
      const auto batch = index_of(a.batch);
      const std::int64_t key = i % a.keys;
      is_seen =
          key < given[b] && (given.size() == batch || key >= given[b + batch]);
    } else {
      is_seen = given[index_of(i)] > 0;
    }
    to[i] = is_seen ? 0 : hidden;
  }
  return out;
}

// Sets the mask from the inputs for padding and bias.
void set_mask(KernelContext& c, Attending& a, std::size_t pad,
              std::size_t bias) {
  if (!c.has_input(pad)) {
    if (c.has_input(bias)) a.mask = mask_of(c, a, bias, c.input(bias));
    return;
  }
  Tensor all = padding(c, a, pad);
  if (c.has_input(bias)) {
    const Tensor more = in_type(c, c.input(bias), DataType::kFloat);
    const Dims dims = broadcast(all.dims(), more.dims());
    Tensor sum = c.allocate(DataType::kFloat, dims);
    map_binary<float, float, float>(c, all, more, sum,
                                    [](float x, float y) { return x + y; });
    all = std::move(sum);
  }
  a.mask = mask_of(c, a, c.has_input(bias) ? bias : pad, all);
}

// Columns [begin, begin + width) of rows, plus a bias where there is one.
Tensor columns(KernelContext& c, const Tensor& x, std::int64_t begin,
               std::int64_t width, const float* bias) {
  const std::int64_t rows[] = {x.dim(0), x.dim(1), width};
  Tensor out = c.allocate(DataType::kFloat, rows);
  const std::int64_t count = out.count() == 0 ? 0 : x.dim(0) * x.dim(1);
  const std::int64_t step = x.dim(2);
  for (std::int64_t r = 0; r < count; ++r) {
    const float* from = x.data<float>() + r * step + begin;
    float* to = out.mutable_data<float>() + r * width;
    for (std::int64_t i = 0; i < width; ++i) {
      to[i] = from[i] + (bias == nullptr ? 0 : bias[i]);
    }
  }
  return out;
}

// Part `part` of [batch, rows, heads, parts, size] as [batch, rows, hidden].
Tensor part_of(KernelContext& c, const Tensor& x, std::int64_t part) {
  return cut(c, x, 3, part, 1)
      .reshaped(Dims{x.dim(0), x.dim(1), x.dim(2) * x.dim(4)});
}

struct Projected {
  Tensor q, k, v;  // [batch, rows, hidden]; keys and values of a past cross
                   // attention [batch, heads, rows, size]
};

Projected read_projected(KernelContext& c, std::int64_t heads) {
  Projected p{.q = need_float(c, 0), .k = {}, .v = {}};
  if (!c.has_input(1)) {
    const Tensor all = c.expect_shape(0, Dims{-1, -1, heads, 3, -1});
    return {part_of(c, all, 0), part_of(c, all, 1), part_of(c, all, 2)};
  }
  const std::int64_t batch = c.expect_rank(0, 3).dim(0);
  p.k = need_float(c, 1);
  if (!c.has_input(2)) {
    const Tensor all = c.expect_shape(1, Dims{batch, -1, heads, 2, -1});
    p.k = part_of(c, all, 0);
    p.v = part_of(c, all, 1);
  } else {
    p.v = need_float(c, 2);
    const bool is_split = c.expect_rank(1, 3, 4).rank() == 4;
    const Dims fits =
        is_split ? Dims{batch, heads, -1, -1} : Dims{batch, -1, -1};
    for (const std::size_t i : {1, 2}) c.expect_shape(i, fits);
  }
  return p;
}

void add_bias(KernelContext& c, Projected& p, const Tensor& bias) {
  const std::int64_t q = p.q.dim(2);
  const bool only_q = p.k.rank() == 4;
  const std::int64_t k = only_q ? 0 : p.k.dim(2), v = only_q ? 0 : p.v.dim(2);
  if (bias.dtype() != DataType::kFloat || bias.rank() != 1 ||
      bias.dim(0) < q + k + v) {
    c.wrong_shape(3, "float[" + std::to_string(q + k + v) + "] or longer");
  }
  const float* at = bias.data<float>();
  p.q = columns(c, p.q, 0, q, at);
  if (only_q) return;
  p.k = columns(c, p.k, 0, k, at + q);
  p.v = columns(c, p.v, 0, v, at + q + k);
}

// Rows of one of keys and values after the past, which is from input `i`.
Tensor cached(KernelContext& c, const Attending& a, const Tensor& x,
              std::size_t i, const Tensor& past) {
  if (x.rank() == 4) {
    return with_past(c, i, past, x, split_strides(a.heads, x.dim(2), x.dim(3)),
                     x.dims());
  }
  const std::int64_t size = head_size(x.dim(2), a.heads);
  const std::int64_t dims[] = {a.batch, a.heads, x.dim(1), size};
  return with_past(c, i, past, x, merged_strides(a.heads, x.dim(1), size),
                   dims);
}

void set_scale(KernelContext& c, Attending& a) {
  const float scale = c.attribute_float("scale", 0);
  a.scale = scale != 0 ? static_cast<double>(scale)
                       : 1 / std::sqrt(static_cast<double>(a.k_size));
}

void run(KernelContext& c, Attending& a, std::int64_t past) {
  set_scale(c, a);
  a.is_causal = c.attribute_flag("unidirectional");
  // The loop of ONNX Runtime that hides later keys stops before the last row.
  a.last_sees_all = true;
  a.offsets = {past};
  const std::int64_t dims[] = {a.batch, a.queries, a.heads * a.v_size};
  attend(c, a, c.output(0, DataType::kFloat, dims));
}

void refuse(KernelContext& c, std::size_t input, std::string_view name) {
  if (c.has_input(input)) {
    fail("the kernel does not take input '" + std::string(name) + "'");
  }
}

}  // namespace

void multi_head_attention(KernelContext& c) {
  refuse(c, 8, "past_sequence_length");
  refuse(c, 9, "cache_indirection");
  if (c.wants(3)) fail("the kernel does not give output 'qk'");
  const std::int64_t heads = c.attribute_int("num_heads");
  Projected p = read_projected(c, heads);
  if (c.has_input(3)) add_bias(c, p, c.input(3));
  Attending a;
  set_queries(a, p.q, heads);
  const Tensor past_k = c.has_input(6) ? c.input(6) : Tensor();
  const Tensor past_v = c.has_input(7) ? c.input(7) : Tensor();
  const Tensor k = cached(c, a, p.k, 6, past_k);
  const Tensor v = cached(c, a, p.v, 7, past_v);
  set_keys(a, k, v);
  a.out_at = merged_strides(a.heads, a.queries, a.v_size);
  set_mask(c, a, 4, 5);
  run(c, a, c.has_input(6) ? past_k.dim(2) : 0);
  if (c.wants(1)) c.set_output(1, k);
  if (c.wants(2)) c.set_output(2, v);
}

namespace {

// [batch, rows, hidden sizes of q, k and v] of an input and its weights.
Projected project(KernelContext& c, std::int64_t heads) {
  const Tensor x = need_float(c, 0), w = need_float(c, 1);
  c.expect_shape(1, Dims{c.expect_rank(0, 3).dim(2), -1});
  Ints sizes = c.attribute_ints("qkv_hidden_sizes");
  const std::int64_t all = w.dim(1);
  if (sizes.empty()) sizes = {all / 3, all / 3, all / 3};
  if (sizes.size() != 3) c.wrong_attribute("qkv_hidden_sizes", "3 numbers");
  const std::string fits = "3 sizes with a sum of " + std::to_string(all);
  std::int64_t rest = all;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > rest) c.wrong_attribute("qkv_hidden_sizes", fits);
    head_size(size, heads);
    rest -= size;
  }
  if (rest != 0) c.wrong_attribute("qkv_hidden_sizes", fits);
  const std::int64_t dims[] = {x.dim(0), x.dim(1), all};
  Tensor product = c.allocate(DataType::kFloat, dims);
  if (product.count() != 0) {
    gemm(c.threads(), false, false, x.dim(0) * x.dim(1), all, w.dim(0), 1.0f,
         x.data<float>(), w.dim(0), w.data<float>(), all, 0.0f,
         product.mutable_data<float>(), all);
  }
  const float* bias = nullptr;
  if (c.has_input(2)) {
    need_float(c, 2);
    bias = c.expect_count(2, all).data<float>();
  }
  const auto part = [&](std::int64_t begin, std::int64_t width) {
    return columns(c, product, begin, width,
                   bias == nullptr ? nullptr : bias + begin);
  };
  return {part(0, sizes[0]), part(sizes[0], sizes[1]),
          part(sizes[0] + sizes[1], sizes[2])};
}

// Half of [2, batch, heads, rows, size].
Tensor half_of(KernelContext& c, const Tensor& x, std::int64_t half) {
  return cut(c, x, 0, half, 1).reshaped(x.dims().subspan(1));
}

}  // namespace

void contrib_attention(KernelContext& c) {
  refuse(c, 6, "past_sequence_length");
  if (c.attribute_flag("do_rotary")) {
    fail("the kernel does not rotate in Attention");
  }
  const std::int64_t heads = c.attribute_int("num_heads");
  const Projected p = project(c, heads);
  Attending a;
  set_queries(a, p.q, heads);
  Tensor past_k, past_v;
  if (c.has_input(4)) {
    need_float(c, 4);
    const Tensor& past =
        c.expect_shape(4, Dims{2, a.batch, a.heads, -1, a.k_size});
    past_k = half_of(c, past, 0);
    past_v = half_of(c, past, 1);
  }
  const Tensor k = cached(c, a, p.k, 4, past_k);
  const Tensor v = cached(c, a, p.v, 4, past_v);
  set_keys(a, k, v);
  a.out_at = merged_strides(a.heads, a.queries, a.v_size);
  set_mask(c, a, 3, 5);
  run(c, a, c.has_input(4) ? past_k.dim(2) : 0);
  if (!c.wants(1)) return;
  if (a.v_size != a.k_size) {
    fail("output 'present' holds keys and values of one size",
         "values of size " + std::to_string(a.k_size),
         std::to_string(a.v_size));
  }
  const std::int64_t dims[] = {2, a.batch, a.heads, a.keys, a.k_size};
  float* to = c.output(1, DataType::kFloat, dims).mutable_data<float>();
  std::copy_n(k.data<float>(), k.count(), to);
  std::copy_n(v.data<float>(), v.count(), to + k.count());
}

}  // namespace ruleengine::kernels
