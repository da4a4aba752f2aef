#include "kernels/cpu/products/weights.h"

namespace ruleengine::kernels {

Weights Weights::of(const Preparation& p, std::size_t i, bool transposed) {
  const Tensor* w = p.constant(i);
  if (w == nullptr || w->rank() != 2) return {};
  Weights out = of(p, i, transposed, 0, w->dim(0));
  if (out.dtype() != DataType::kUndefined) p.release(i);
  return out;
}

Weights Weights::of(const Preparation& p, std::size_t i, bool transposed,
                    std::int64_t first, std::int64_t rows) {
  const Tensor* w = p.constant(i);
  Weights out;
  if (!p.arranges_weights() || w == nullptr || w->rank() < 2) return out;
  const std::int64_t columns = w->dims().back();
  const std::int64_t k = transposed ? columns : rows;
  const std::int64_t n = transposed ? rows : columns;
  const auto pack = [&]<typename T>() {
    const PanelLayout<T> layout{k, n};
    const std::int64_t count = layout.count();
    auto panels = p.arranged(*w, w->dtype(), {&count, 1});
    if (!panels) return;
    pack_matrix<T>(p.threads(), layout,
                   {w->data<T>() + first * columns, columns, transposed},
                   panels->template mutable_data<T>());
    out.panels_ = *std::move(panels);
  };
  if (w->dtype() == DataType::kFloat) pack.template operator()<float>();
  if (w->dtype() == DataType::kDouble) pack.template operator()<double>();
  return out;
}

}  // namespace ruleengine::kernels
