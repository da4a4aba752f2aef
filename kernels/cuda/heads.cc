#include "kernels/cuda/heads.h"

#include "kernels/attention.h"

namespace ruleengine::kernels::cuda {

HeadView head_view(const Tensor& x, std::int64_t heads) {
  HeadView out{.data = x.data<std::byte>(), .batch = x.dim(0)};
  if (x.rank() == 3) {
    out.heads = heads;
    out.rows = x.dim(1);
    out.size = head_size(x.dim(2), heads);
    out.strides = strides_by_length(heads, out.rows, out.size);
  } else {
    out.heads = x.dim(1);
    out.rows = x.dim(2);
    out.size = x.dim(3);
    out.strides = strides_by_head(out.heads, out.rows, out.size);
  }
  return out;
}

}  // namespace ruleengine::kernels::cuda
