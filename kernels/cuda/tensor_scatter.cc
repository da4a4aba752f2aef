// TensorScatter: new rows of a cache, which it writes in place where nothing
// else reads the cache.
#include "kernels/cuda/cache.h"
#include "kernels/cuda/families.h"
#include "kernels/indexing.h"

namespace ruleengine::kernels::cuda {
namespace {

DataType cached_type(const Preparation& p) {
  const DataType type = moved_type(p, 0);
  const std::size_t width = runtime::bytes_of(type, 1);
  if (width != 2 && width != 4) decline("elements of another width");
  if (p.choice("mode", {"linear", "circular"}) != "linear") {
    decline("a cache that begins anew at its end");
  }
  if (!p.node().has_input(2)) return type;
  const DataType places = input_type(p, 2);
  if (places != DataType::kInt64) decline("the places are not int64");
  return type;
}

Op tensor_scatter(const Preparation& p, Session& session) {
  session.kernel("caches", "key_lengths");  // no run loads code
  std::int32_t* const flag =
      node_flag(p, session, "new rows are beyond the cache");
  return [&session, flag, type = cached_type(p),
          axis = AttributeAxis(p)](Call& c) {
    const Tensor& x = c.expect_type(0, type);
    const CacheSizes s = cache_sizes(c, axis);
    const Tensor& update = c.expect_type(1, type);
    NewRows added{.x = {.data = update.data<std::byte>(),
                        .batch = s.batch,
                        .heads = s.rows,
                        .rows = s.update,
                        .size = s.inner,
                        .strides = strides_by_head(s.rows, s.update, s.inner)}};
    if (c.has_input(2) && s.batch > 0) {
      added.lengths = find_lengths(c, session,
                                   {.batch = s.batch,
                                    .rows = s.length,
                                    .each = &c.expect_count(2, s.batch),
                                    .plus = s.update,
                                    .least = s.update,
                                    .most = s.length,
                                    .flag = flag});
    }
    Tensor& out = c.output_in_place(0, 0, type, x.dims());
    write_rows(session, &x, added, out, s.length);
  };
}

constexpr Kernel kTensorScatterKernels[] = {
    {"", "TensorScatter", tensor_scatter}};

}  // namespace

const KernelRows kTensorScatterRows = kTensorScatterKernels;

}  // namespace ruleengine::kernels::cuda
