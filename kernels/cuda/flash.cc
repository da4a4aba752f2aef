#include "kernels/cuda/attending_steps.h"

#include <limits>
#include <string>

namespace ruleengine::kernels::cuda {
namespace {

std::int32_t narrow(std::int64_t x) {
  if (x > std::numeric_limits<std::int32_t>::max()) {
    runtime::fail_limit(Remedy::kDevice,
                        "the GPU cannot compute an attention of this size", {},
                        {});
  }
  return static_cast<std::int32_t>(x);
}

device::AttentionRows rows_of(const HeadView& x, std::byte* data) {
  return {.data = data, .strides = {x.strides[0], x.strides[1], x.strides[2]}};
}
device::AttentionRows rows_of(const HeadView& x) {
  // The kernel writes its output only.
  return rows_of(x, const_cast<std::byte*>(x.data));
}

device::BiasKind kind_of(DataType type) {
  switch (type) {
    case DataType::kFloat:
      return device::BiasKind::kF32;
    case DataType::kFloat16:
      return device::BiasKind::kF16;
    case DataType::kBfloat16:
      return device::BiasKind::kBf16;
    default:
      return device::BiasKind::kBool;
  }
}

void set_mask(device::AttentionArgs& args, const Tensor& mask) {
  args.bias_kind = kind_of(mask.dtype());
  args.bias = mask.data<std::byte>();
  const Dims steps = strides_of(mask.dims());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t axis = 4 - steps.size() + i;
    args.bias_strides[axis] = mask.dim(i) == 1 ? 0 : steps[i];
  }
}

void set_band(device::AttentionArgs& args, const GpuAttending& a) {
  args.has_left = a.left >= 0;
  args.has_right = a.is_causal || a.right >= 0;
  args.left = a.left;
  args.right = a.is_causal ? 0 : a.right;
  args.is_bottom_right = a.ends_meet;
  args.diagonal = a.ends_meet ? 0 : a.offset;
}

}  // namespace

device::AttentionArgs attention_args(const GpuAttending& a, std::byte* to) {
  device::AttentionArgs args{.q = rows_of(a.q),
                             .k = rows_of(a.k),
                             .v = rows_of(a.v),
                             .out = rows_of(a.out, to),
                             .batch = narrow(a.q.batch),
                             .q_heads = narrow(a.q.heads),
                             .kv_heads = narrow(a.k.heads),
                             .q_length = narrow(a.q.rows),
                             .kv_length = narrow(a.k.rows),
                             .qk_size = narrow(a.q.size),
                             .v_size = narrow(a.v.size),
                             .scale = static_cast<float>(a.scale),
                             .cap = static_cast<float>(a.cap)};
  set_band(args, a);
  if (a.has_mask()) set_mask(args, a.mask);
  args.seen_keys = narrow(a.seen_keys());
  if (a.lengths.is_there()) args.kv_lengths = {a.lengths.keys(), false};
  if (a.has_sinks()) args.sinks = a.sinks.data<float>();
  args.is_guarded = a.is_guarded;
  args.splits = 1;
  narrow(rows_of_group(args));
  return args;
}

void run_flash(Call& c, Session& session, DataType type,
               device::AttentionArgs args) {
  args.splits = attention_splits(args, session.multiprocessors());
  const std::int64_t bytes = attention_workspace(args);
  Tensor parts;
  if (bytes > 0) {
    parts = c.allocate(DataType::kUint8, {&bytes, 1});
    args.parts = parts.mutable_data<float>();
  }
  const int size = attention_size(args);
  const std::size_t shared = device::attention_shared(size, width_of(type));
  const CUfunction kernel =
      kernel_of(session, "attention", "flash_attention_" + std::to_string(size),
                type, kFloats);
  session.launch(kernel,
                 blocks(attention_blocks(args) * args.splits,
                        device::kAttentionThreads, shared),
                 args);
  if (args.splits == 1) return;
  session.launch(
      kernel_of(session, "attention", "join_attention", type, kFloats),
      blocks(join_blocks(args), device::kJoinThreads), args);
}

void clear_hidden(Session& session, DataType type,
                  const device::AttentionArgs& args) {
  session.launch(kernel_of(session, "hidden", "clear_hidden", type, kFloats),
                 blocks(hidden_blocks(args), device::kHiddenThreads), args);
}

}  // namespace ruleengine::kernels::cuda
