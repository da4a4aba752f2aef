#include "kernels/cuda/cache.h"

#include <algorithm>
#include <string>

#include "kernels/cuda/device/caches.h"
#include "kernels/shapes.h"

namespace ruleengine::kernels::cuda {
namespace {

bool is_whole_vectors(const device::ExtendArgs& args, std::int64_t bytes) {
  const std::int64_t size = 16 / bytes;
  const auto address = reinterpret_cast<std::uintptr_t>(args.past) |
                       reinterpret_cast<std::uintptr_t>(args.added) |
                       reinterpret_cast<std::uintptr_t>(args.out);
  return address % 16 == 0 && args.size % size == 0 &&
         std::ranges::all_of(args.added_strides, [&](std::int64_t stride) {
           return stride % size == 0;
         });
}

}  // namespace

KeyLengths find_lengths(Call& c, Session& session, const LengthSource& source) {
  const std::int64_t half = ceil_div(source.batch, std::int64_t{4}) * 4;
  const std::int64_t count = 2 * half;
  Tensor both = c.allocate(DataType::kInt32, {&count, 1});
  if (count == 0) return KeyLengths(std::move(both));
  device::KeyLengthsArgs args{
      .plus = source.plus,
      .least = source.least,
      .most = source.most,
      .beyond = source.flag,
      .rows = source.rows,
      .queries = both.mutable_data<std::int32_t>(),
      .keys = both.mutable_data<std::int32_t>() + half,
      .batch = static_cast<std::int32_t>(source.batch),
      .q_length = static_cast<std::int32_t>(source.queries)};
  if (source.each != nullptr) {
    args.in = source.each->data<std::byte>();
    args.is_wide = source.each->dtype() == DataType::kInt64;
  }
  session.launch(session.kernel("caches", "key_lengths"),
                 spread(source.batch, device::kCacheThreads), args);
  return KeyLengths(std::move(both));
}

SequenceOffsets::SequenceOffsets(Call& c, Session& session, std::int64_t batch,
                                 const std::array<std::int64_t, 4>& strides)
    : pitch_(ceil_div(batch + 1, std::int64_t{2}) * 2),
      all_(c.allocate(DataType::kInt64, Dims{4, pitch_})) {
  device::OffsetsArgs args{.out = all_.mutable_data<std::int64_t>(),
                           .pitch = pitch_,
                           .batch = batch};
  std::ranges::copy(strides, args.strides);
  session.launch(session.kernel("caches", "ragged_offsets"),
                 spread(4 * (batch + 1), device::kCacheThreads), args);
}

void write_rows(Session& session, const Tensor* past, const NewRows& added,
                Tensor& out, std::int64_t rows) {
  if (out.count() == 0) return;
  const HeadView& x = added.x;
  const int bytes = width_of(out.dtype());
  device::ExtendArgs args{.added = x.data,
                          .out = out.mutable_data<std::byte>(),
                          .batch = x.batch,
                          .heads = x.heads,
                          .added_rows = x.rows,
                          .rows = rows,
                          .size = x.size,
                          .first = added.first};
  std::copy_n(x.strides.begin(), 3, args.added_strides);
  if (past != nullptr && past->count() > 0) {
    args.past = past->data<std::byte>();
    args.past_rows = past->count() / (x.batch * x.heads * x.size);
    args.is_in_place = args.past == args.out;
  }
  if (added.lengths.is_there()) args.keys = added.lengths.keys();
  args.is_vector = is_whole_vectors(args, bytes);
  const std::int64_t pieces = extend_pieces(args, bytes);
  if (pieces == 0) return;
  session.launch(kernel_of_width(session, "caches", "extend_cache", bytes),
                 spread(pieces, device::kCacheThreads), args);
}

Tensor extended(Call& c, Session& session, DataType type, const Tensor* past,
                const NewRows& added, std::int64_t rows) {
  const HeadView& x = added.x;
  Tensor out = c.allocate(type, Dims{x.batch, x.heads, rows, x.size});
  write_rows(session, past, added, out, rows);
  return out;
}

}  // namespace ruleengine::kernels::cuda
