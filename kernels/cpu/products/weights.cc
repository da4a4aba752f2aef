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
                    std::int64_t first, std::int64_t count, bool of_inputs) {
  const Tensor* w = p.constant(i);
  Weights out;
  if (!p.arranges_weights() || w == nullptr || w->rank() < 2) return out;
  if (w->count() == 0) return out;
  const std::int64_t stride = w->dims().back();
  const auto pack = [&]<typename T, typename Packed>(DataType type) {
    const PanelLayout<T> layout{transposed ? stride : w->dim(0), count};
    const std::int64_t size = layout.count();
    auto panels = p.arranged(*w, type, {&size, 1});
    if (!panels) return;
    const Matrix<T> whole{w->data<T>(), stride, transposed};
    pack_matrix<T>(p.threads(), layout,
                   {whole.at(0, first), stride, transposed},
                   panels->template mutable_data<Packed>());
    out.panels_ = *std::move(panels);
  };
  if (w->dtype() == DataType::kDouble) {
    pack.template operator()<double, double>(w->dtype());
  } else if (w->dtype() == DataType::kFloat) {
    const ir::Type* type = of_inputs ? p.input_type(i) : nullptr;
    if (type != nullptr && type->elem == DataType::kBfloat16 &&
        has_bfloat16_tiles()) {
      pack.template operator()<float, BFloat16>(type->elem);
    } else {
      pack.template operator()<float, float>(w->dtype());
    }
  }
  return out;
}

}  // namespace ruleengine::kernels
