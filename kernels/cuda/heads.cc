#include "kernels/cuda/heads.h"

#include <algorithm>

namespace ruleengine::kernels::cuda {

HeadView head_view(const Tensor& x, std::int64_t heads) {
  HeadView out{.data = x.data<std::byte>(), .batch = x.dim(0)};
  if (x.rank() == 3) {
    out.heads = heads;
    out.rows = x.dim(1);
    out.size = head_size(x.dim(2), heads);
    out.strides = strides_by_length(heads, out.rows, out.size);
    if (!x.is_dense()) {
      out.strides = {x.strides()[0], out.size, x.strides()[1], 1};
    }
  } else {
    out.heads = x.dim(1);
    out.rows = x.dim(2);
    out.size = x.dim(3);
    out.strides = strides_by_head(out.heads, out.rows, out.size);
    if (!x.is_dense()) std::ranges::copy(x.strides(), out.strides.begin());
  }
  return out;
}

Tensor with_whole_rows(const Call& c, const Tensor& x) {
  if (x.is_dense()) return x;
  constexpr std::int64_t kVector = 16;
  const int width = width_of(x.dtype());
  const std::size_t last = x.rank() - 1;
  bool fits =
      reinterpret_cast<std::uintptr_t>(x.data<std::byte>()) % kVector == 0 &&
      x.strides()[last] == 1;
  for (std::size_t i = 0; i < last; ++i) {
    const std::int64_t stride = x.strides()[i];
    fits = fits && stride > 0 && stride * width % kVector == 0;
  }
  return fits ? x : runtime::compact(x, c.run());
}

HeadOutput::HeadOutput(const Preparation& p, std::size_t i) : i_(i) {
  const ir::Graph& graph = p.node().graph();
  const ir::ValueId v = graph.output(p.node().id(), i);
  if (!v || graph.reader_count(v) != 1 || !graph.first_use(v)) return;
  const ir::NodeId reader = graph.operand(graph.first_use(v)).user;
  const ir::Attribute* perm = graph.attribute(reader, "perm");
  constexpr std::int64_t kSwapped[] = {0, 2, 1, 3};
  is_swapped_ = graph.op(reader).standard("Transpose") && perm != nullptr &&
                std::ranges::equal(perm->ints, kSwapped);
}

Tensor& HeadOutput::make(Call& c, DataType type, Shape dims) const {
  Tensor& out = c.output(i_, type, dims);
  if (is_swapped_ && c.gives_view(i_) && dims.size() == 4) {
    out = out.view(dims, strides_by_length(dims[1], dims[2], dims[3]), 0);
  }
  return out;
}

}  // namespace ruleengine::kernels::cuda
