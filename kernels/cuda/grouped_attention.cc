// GroupQueryAttention of ONNX Runtime's domain. The lengths of sequences stay
// on the GPU; the greatest of them, which tells shapes, is read on the host.
#include "kernels/grouped_attention.h"

#include "core/ops/dialect.h"
#include "kernels/cuda/attending.h"
#include "kernels/cuda/device/caches.h"
#include "kernels/cuda/device/rotary.h"
#include "kernels/rotary.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::size_t kSameType[] = {
    GroupedSlot::kKey,       GroupedSlot::kValue, GroupedSlot::kPastKey,
    GroupedSlot::kPastValue, GroupedSlot::kCos,   GroupedSlot::kSin};

DataType grouped_type(const Preparation& p) {
  const DataType type = input_type(p, GroupedSlot::kQuery);
  for (const std::size_t i : kSameType) {
    if (p.node().has_input(i) && input_type(p, i) != type) {
      decline("the inputs differ in type");
    }
  }
  if (p.node().has_input(GroupedSlot::kBias)) {
    const DataType bias = input_type(p, GroupedSlot::kBias);
    if (bias != type && bias != DataType::kFloat) {
      decline("a bias of " + std::string(ir::data_type_name(bias)));
    }
  }
  return type;
}

// Of queries alone, or of those that keys and values lie behind.
std::optional<std::int64_t> grouped_size(const Preparation& p,
                                         const GroupedAttributes& a) {
  const ir::Type* type = p.input_type(GroupedSlot::kQuery);
  if (type == nullptr || !type->has_shape || type->rank() != 3) return {};
  const ir::Dim last = type->dims[2];
  if (!last.known()) return {};
  const bool is_packed = !p.node().has_input(GroupedSlot::kKey);
  return last.size() / (a.heads + (is_packed ? 2 * a.kv_heads : 0));
}

// The new rows, as they lie in the inputs.
struct NewViews {
  GroupedRows n;
  HeadView q, k, v;
};

class GroupedOnGpu {
 public:
  GroupedOnGpu(const Preparation& p, Session& session)
      : a_(p),
        parts_(p, session, grouped_type(p), grouped_size(p, a_),
               grouped_size(p, a_)),
        rotary_(kernel_of(session, "rotary", "rotary", parts_.type(), kFloats)),
        length_flag_(node_flag(p, session, "a length does not fit the cache")),
        position_flag_(node_flag(p, session, "a position is out of range")),
        sinks_(sinks_of(p)) {}

  void operator()(Call& c) const {
    NewViews views = views_of(c);
    const Tensor& q = c.input(GroupedSlot::kQuery);
    set_past(c, views);
    const KeyLengths lengths = lengths_of(c, views);
    Tensor turned_q, turned_k;
    if (a_.is_rotated && q.count() != 0) {
      const Tensor positions = positions_of(c, views, lengths);
      rotate(c, views.q, positions, turned_q);
      rotate(c, views.k, positions, turned_k);
    }
    Tensor keys = cache_of(c, GroupedSlot::kPastKey, views.k, views.n, lengths);
    Tensor values =
        cache_of(c, GroupedSlot::kPastValue, views.v, views.n, lengths);
    GpuAttending a{.q = views.q,
                   .k = head_view(keys, a_.kv_heads),
                   .v = head_view(values, a_.kv_heads)};
    a.scale = a_.scale_of(a.q.size);
    a.cap = static_cast<double>(a_.softcap);
    a.is_causal = a_.is_causal;
    if (a_.window > 0) a.left = a_.window - 1;
    a.lengths = lengths;
    a.ends_meet = !views.n.is_first();
    a.sinks = given_sinks(c);
    if (c.has_input(GroupedSlot::kBias)) a.set_mask(c, GroupedSlot::kBias);
    const std::int64_t dims[] = {a.q.batch, a.q.rows, a.q.heads * a.q.size};
    Tensor& out = c.output(0, parts_.type(), dims);
    a.out = head_view(out, a_.heads);
    a.run(c, parts_, out);
    if (c.wants(1)) c.set_output(1, std::move(keys));
    if (c.wants(2)) c.set_output(2, std::move(values));
  }

 private:
  // Zeros, where the op has sinks that no input tells.
  Tensor sinks_of(const Preparation& p) const {
    if (p.node().has_input(GroupedSlot::kSink)) {
      if (input_type(p, GroupedSlot::kSink) != parts_.type()) {
        decline("the sinks differ in type");
      }
      return {};
    }
    if (!a_.has_sink) return {};
    Tensor out = p.allocate(DataType::kFloat, {&a_.heads, 1});
    fill(parts_.session(), out, 0);
    return out;
  }

  NewViews views_of(Call& c) const {
    const DataType type = parts_.type();
    const Tensor& q =
        c.expect_shape(GroupedSlot::kQuery, Dims{-1, -1, -1}, type);
    NewViews out;
    out.n.rows = q.dim(1);
    out.n.total = c.scalar_int(GroupedSlot::kTotal);
    if (c.has_input(GroupedSlot::kKey)) {
      out.q = head_view(q, a_.heads);
      const Dims dims{q.dim(0), q.dim(1), a_.kv_heads * out.q.size};
      out.k =
          head_view(c.expect_shape(GroupedSlot::kKey, dims, type), a_.kv_heads);
      out.v = head_view(c.expect_shape(GroupedSlot::kValue, dims, type),
                        a_.kv_heads);
      return out;
    }
    // Heads of queries, keys and values lie beside each other.
    out.q = head_view(q, a_.heads + 2 * a_.kv_heads);
    out.k = out.v = out.q;
    out.q.heads = a_.heads;
    out.k.heads = out.v.heads = a_.kv_heads;
    const auto bytes = runtime::bytes_of(type, out.q.size);
    out.k.data += index_of(a_.heads) * bytes;
    out.v.data += index_of(a_.heads + a_.kv_heads) * bytes;
    return out;
  }

  void set_past(Call& c, NewViews& views) const {
    GroupedRows& n = views.n;
    const std::int64_t batch = c.input(GroupedSlot::kQuery).dim(0);
    for (const std::size_t i :
         {GroupedSlot::kPastKey, GroupedSlot::kPastValue}) {
      if (!c.has_input(i)) continue;
      const std::int64_t rows = i == GroupedSlot::kPastValue ? n.past_rows : -1;
      const Dims dims{batch, a_.kv_heads, rows, views.k.size};
      n.past_rows = c.expect_shape(i, dims, parts_.type()).dim(2);
    }
    expect_grouped(c, n);
  }

  KeyLengths lengths_of(Call& c, const NewViews& views) const {
    const GroupedRows& n = views.n;
    const bool is_first = n.is_first();
    return find_lengths(
        c, parts_.session(),
        {.batch = views.q.batch,
         .queries = n.rows,
         .rows = n.keys(),
         .each = &c.expect_count(GroupedSlot::kLast, views.q.batch),
         .plus = 1,
         .least = is_first ? 0 : n.rows,
         .most = is_first ? n.total : std::min(n.total, n.past_rows + n.rows),
         .flag = length_flag_});
  }

  Tensor positions_of(Call& c, const NewViews& views,
                      const KeyLengths& lengths) const {
    const bool is_given = c.has_input(GroupedSlot::kPositions);
    const std::int64_t count = views.q.batch * views.n.rows;
    // Of a first prompt, the schema takes the first position and counts on.
    if (is_given && !views.n.is_first()) {
      return c.expect_count(GroupedSlot::kPositions, count, DataType::kInt64);
    }
    Tensor out = c.allocate(DataType::kInt64, {&count, 1});
    device::PositionsArgs args{.out = out.mutable_data<std::int64_t>(),
                               .batch = views.q.batch,
                               .rows = views.n.rows};
    if (is_given) {
      args.in = c.expect_count(GroupedSlot::kPositions, count, DataType::kInt64)
                    .data<std::int64_t>();
    } else if (!views.n.is_first()) {
      args.keys = lengths.keys();
    }
    Session& session = parts_.session();
    session.launch(session.kernel("caches", "token_positions"),
                   spread(count, device::kCacheThreads), args);
    return out;
  }

  // A view turned, whose tensor then is `turned`.
  void rotate(Call& c, HeadView& x, const Tensor& positions,
              Tensor& turned) const {
    const Tensor& cosines =
        c.expect_shape(GroupedSlot::kCos, Dims{-1, -1}, parts_.type());
    const Tensor& sines = c.expect_type(GroupedSlot::kSin, parts_.type());
    expect_turned(2 * cosines.dim(1), x.size, cosines, sines);
    turned = c.allocate(parts_.type(), Dims{x.batch, x.rows, x.heads * x.size});
    const HeadView out = head_view(turned, x.heads);
    device::RotaryArgs args{
        .in = x.data,
        .out = turned.mutable_data<std::byte>(),
        .cosines = cosines.data<std::byte>(),
        .sines = sines.data<std::byte>(),
        .positions = positions.data<std::int64_t>(),
        .position_count = cosines.dim(0),
        .beyond = position_flag_,
        .batch = x.batch,
        .heads = x.heads,
        .seq = x.rows,
        .head_size = static_cast<std::int32_t>(x.size),
        .rotated = static_cast<std::int32_t>(2 * cosines.dim(1)),
        .is_interleaved = a_.is_interleaved};
    std::copy_n(x.strides.begin(), 3, args.in_strides);
    std::copy_n(out.strides.begin(), 3, args.out_strides);
    parts_.session().launch(rotary_,
                            spread(rotary_chunks(args, width_of(parts_.type())),
                                   device::kRotaryThreads),
                            args);
    x = out;
  }

  Tensor cache_of(Call& c, std::size_t past, const HeadView& x,
                  const GroupedRows& n, const KeyLengths& lengths) const {
    NewRows added{.x = x};
    if (!n.is_first()) added.lengths = lengths;
    const Tensor* old = c.has_input(past) ? &c.input(past) : nullptr;
    return extended(c, parts_.session(), parts_.type(), old, added, n.keys());
  }

  Tensor given_sinks(Call& c) const {
    if (!c.has_input(GroupedSlot::kSink)) return sinks_;
    const Tensor& given =
        c.expect_count(GroupedSlot::kSink, a_.heads, parts_.type());
    if (parts_.type() == DataType::kFloat) return given;
    Tensor out = c.allocate(DataType::kFloat, given.dims());
    convert(parts_.session(), given, out);
    return out;
  }

  GroupedAttributes a_;
  AttentionParts parts_;
  CUfunction rotary_;
  std::int32_t* length_flag_;
  std::int32_t* position_flag_;
  Tensor sinks_;
};

Op grouped_attention(const Preparation& p, Session& session) {
  decline_unknown_grouped(p);
  return GroupedOnGpu(p, session);
}

constexpr Kernel kGroupedKernels[] = {{ops::dialect::kMicrosoft,
                                       "GroupQueryAttention", grouped_attention,
                                       1U << GroupedSlot::kTotal}};

}  // namespace

const KernelRows kGroupedRows = kGroupedKernels;

}  // namespace ruleengine::kernels::cuda
