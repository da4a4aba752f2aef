#include "kernels/cpu/products/weights.h"

namespace ruleengine::kernels {

Weights Weights::of(const Preparation& p, std::size_t i, bool transposed) {
  const Tensor* w = p.constant(i);
  if (w == nullptr || w->rank() != 2) return {};
  Weights out = of(p, i, transposed, 0, w->dim(transposed ? 0 : 1));
  if (out.dtype() != DataType::kUndefined) p.release(i);
  return out;
}

Weights Weights::of(const Preparation& p, std::size_t i, bool transposed,
                    std::int64_t first, std::int64_t count) {
  const Tensor* w = p.constant(i);
  Weights out;
  if (!p.arranges_weights() || w == nullptr || w->rank() < 2) return out;
  const std::int64_t stride = w->dims().back();
  const auto pack = [&]<typename T>() {
    const PanelLayout<T> layout{transposed ? stride : w->dim(0), count};
    const std::int64_t size = layout.count();
    auto panels = p.arranged(*w, w->dtype(), {&size, 1});
    if (!panels) return;
    const Matrix<T> whole{w->data<T>(), stride, transposed};
    pack_matrix<T>(p.threads(), layout,
                   {whole.at(0, first), stride, transposed},
                   panels->template mutable_data<T>());
    out.panels_ = *std::move(panels);
  };
  if (w->dtype() == DataType::kFloat) pack.template operator()<float>();
  if (w->dtype() == DataType::kDouble) pack.template operator()<double>();
  return out;
}

}  // namespace ruleengine::kernels
