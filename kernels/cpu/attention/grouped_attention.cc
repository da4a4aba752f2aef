// GroupQueryAttention of ONNX Runtime's domain: attention over a cache, whose
// rows each of the batch fills to its own length.
#include <algorithm>

#include "kernels/cpu/attention/attending.h"
#include "kernels/cpu/families.h"
#include "kernels/grouped_attention.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

struct Grouped {
  std::int64_t size, batch, rows;
  std::int64_t past_rows = 0, keys = 0;
  bool is_first = false;  // a first prompt: all rows are new
  Tensor q, k, v;         // [batch, rows, heads * size]
  Ints lengths;           // keys of each with the new ones
  Ints past;              // those before the new ones
};

class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(const Preparation& p) : a_(p) {}
  void operator()(Call& c) const;

 private:
  Grouped read_grouped(Call& c) const;
  void read_lengths(Call& c, Grouped& g) const;
  Tensor rotated(Call& c, const Grouped& g, const Tensor& x,
                 std::int64_t heads) const;
  void set_sinks(Call& c, Attending& a) const;

  GroupedAttributes a_;
};

Grouped GroupQueryAttention::read_grouped(Call& c) const {
  Grouped g{};
  g.q = c.expect_shape(GroupedSlot::kQuery, Dims{-1, -1, -1}, DataType::kFloat);
  g.batch = g.q.dim(0);
  g.rows = g.q.dim(1);
  if (!c.has_input(GroupedSlot::kKey)) {
    const Tensor all = g.q;
    g.size = head_size(all.dim(2), a_.heads + 2 * a_.kv_heads);
    const std::int64_t q = a_.heads * g.size, k = a_.kv_heads * g.size;
    g.q = cut(c, all, 2, 0, q);
    g.k = cut(c, all, 2, q, k);
    g.v = cut(c, all, 2, q + k, k);
    return g;
  }
  g.size = head_size(g.q.dim(2), a_.heads);
  const std::int64_t dims[] = {g.batch, g.rows, a_.kv_heads * g.size};
  g.k = c.expect_shape(GroupedSlot::kKey, dims, DataType::kFloat);
  g.v = c.expect_shape(GroupedSlot::kValue, dims, DataType::kFloat);
  return g;
}

void GroupQueryAttention::read_lengths(Call& c, Grouped& g) const {
  const std::int64_t total = c.scalar_int(GroupedSlot::kTotal);
  c.expect_count(GroupedSlot::kLast, g.batch);
  const Ints last = c.ints(GroupedSlot::kLast);
  for (const std::size_t i : {GroupedSlot::kPastKey, GroupedSlot::kPastValue}) {
    if (!c.has_input(i)) continue;
    const std::int64_t rows = i == GroupedSlot::kPastValue ? g.past_rows : -1;
    const Dims dims{g.batch, a_.kv_heads, rows, g.size};
    g.past_rows = c.expect_shape(i, dims, DataType::kFloat).dim(2);
  }
  const GroupedRows all{
      .rows = g.rows, .past_rows = g.past_rows, .total = total};
  expect_grouped(c, all);
  g.keys = all.keys();
  g.is_first = all.is_first();
  for (const std::int64_t n : last) {
    const std::int64_t length = n < total ? n + 1 : total + 1;
    const std::int64_t past = g.is_first ? 0 : length - g.rows;
    if (length < 0 || length > total || past < 0 || past > g.past_rows) {
      fail("a length does not fit the cache", "up to " + std::to_string(total),
           std::to_string(length));
    }
    g.lengths.push_back(length);
    g.past.push_back(past);
  }
}

Tensor GroupQueryAttention::rotated(Call& c, const Grouped& g, const Tensor& x,
                                    std::int64_t heads) const {
  Rotation r{HeadLayout(x, heads)};
  r.cosines = c.expect_rank(GroupedSlot::kCos, 2);
  r.sines = c.input(GroupedSlot::kSin);
  if (r.cosines.dim(1) > g.size) {
    c.wrong_shape(GroupedSlot::kCos,
                  "rows of at most " + std::to_string(g.size));
  }
  r.turned = 2 * r.cosines.dim(1);
  r.interleaved = a_.is_interleaved;
  if (c.has_input(GroupedSlot::kPositions)) {
    c.expect_count(GroupedSlot::kPositions, g.batch * g.rows);
    r.positions = c.ints(GroupedSlot::kPositions);
    // Of a first prompt, the schema takes the first position and counts on.
    if (g.is_first) {
      for (std::size_t i = 1; i < r.positions.size(); ++i) {
        r.positions[i] = r.positions[0] + static_cast<std::int64_t>(i) % g.rows;
      }
    }
  } else {
    for (std::int64_t i = 0; i < g.batch * g.rows; ++i) {
      r.positions.push_back(g.past[index_of(i / g.rows)] + i % g.rows);
    }
  }
  check_rotation(r);
  Tensor out = c.allocate(DataType::kFloat, x.dims());
  rotate(c, r, x, out);
  return out;
}

void GroupQueryAttention::set_sinks(Call& c, Attending& a) const {
  if (c.has_input(GroupedSlot::kSink)) {
    const Tensor& sink =
        c.expect_count(GroupedSlot::kSink, a.heads, DataType::kFloat);
    a.sinks.assign(sink.data<float>(), sink.data<float>() + a.heads);
  } else if (a_.has_sink) {
    a.sinks.assign(index_of(a.heads), 0.0f);
  }
}

void GroupQueryAttention::operator()(Call& c) const {
  Grouped g = read_grouped(c);
  read_lengths(c, g);
  if (a_.is_rotated && g.q.count() != 0) {
    g.q = rotated(c, g, g.q, a_.heads);
    g.k = rotated(c, g, g.k, a_.kv_heads);
  }
  const Dims dims{g.batch, a_.kv_heads, g.keys, g.size};
  const HeadStrides at = merged_strides(a_.kv_heads, g.rows, g.size);
  Tensor keys =
      with_past(c, GroupedSlot::kPastKey, g.k, at, g.rows, g.past, dims);
  Tensor values =
      with_past(c, GroupedSlot::kPastValue, g.v, at, g.rows, g.past, dims);
  Attending a;
  set_queries(a, g.q, a_.heads);
  set_keys(a, keys, values);
  a.out_at = a.q_at;
  a.lengths = g.lengths;
  a.offsets = g.past;
  a.is_causal = a_.is_causal;
  if (a_.window > 0) a.left = a_.window - 1;
  a.scale = a_.scale_of(g.size);
  a.softcap = static_cast<double>(a_.softcap);
  if (c.has_input(GroupedSlot::kBias))
    a.mask = mask_of(c, a, GroupedSlot::kBias, c.input(GroupedSlot::kBias));
  set_sinks(c, a);
  attend(c, a, c.output(0, DataType::kFloat, g.q.dims()));
  if (c.wants(1)) c.set_output(1, std::move(keys));
  if (c.wants(2)) c.set_output(2, std::move(values));
}

}  // namespace

Op group_query_attention(const Preparation& p) {
  decline_unknown_grouped(p);
  return GroupQueryAttention(p);
}

}  // namespace ruleengine::kernels
