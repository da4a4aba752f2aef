// What each op of the engine's own computes, in ops of the standard: the one
// place that says it. The formulas are in docs/dialect.md. Internal to
// core/rewrite; call.h looks them up.
#ifndef RULEENGINE_CORE_REWRITE_MEANINGS_MEANINGS_H_
#define RULEENGINE_CORE_REWRITE_MEANINGS_MEANINGS_H_

#include "core/rewrite/meanings/call.h"

namespace ruleengine::rewrite::meanings {

// No size that is meant is above; products of two fit into 64 bits.
inline constexpr std::int64_t kMostSize = std::int64_t{1} << 30;

// The type that a meaning computes in: double where this input is, else float.
class Wide {
 public:
  Wide(const Call& call, std::string_view input)
      : call_(call), own_(call.elem(input)) {
    if (own_ == ir::DataType::kUndefined) {
      call.body().refuse("the type is unknown", call[input]);
    }
  }

  ir::DataType own() const { return own_; }
  ir::DataType elem() const {
    return own_ == ir::DataType::kDouble ? own_ : ir::DataType::kFloat;
  }
  ir::ValueId input(std::string_view name) const {
    return cast(call_[name], call_.elem(name));
  }
  // A value of a type that is known.
  ir::ValueId cast(ir::ValueId value, ir::DataType from) const {
    if (from == elem()) return value;
    return call_.body().cast(value, elem(), "wide");
  }

 private:
  const Call& call_;
  ir::DataType own_;
};

Body::Values scaled_dot_product_attention(const Call& call);
Body::Values functional_attention(const Call& call);
Body::Values attention_forward(const Call& call);

Body::Values linear(const Call& call);
Body::Values in_projection(const Call& call);

Body::Values relative_position_bias(const Call& call);
Body::Values window_partition(const Call& call);
Body::Values window_reverse(const Call& call);
Body::Values swin_attention(const Call& call);

Body::Values rms_norm(const Call& call);
Body::Values add_rms_norm(const Call& call);
Body::Values marker(const Call& call);

Body::Values quantize(const Call& call);
Body::Values dynamic_quantize_symmetric(const Call& call);
Body::Values dynamic_quantize_asymmetric(const Call& call);
Body::Values dynamic_quantize_mxfp4(const Call& call);

Body::Values static_quant_linear(const Call& call);
Body::Values fp8_linear(const Call& call);
Body::Values mxfp4_linear(const Call& call);

}  // namespace ruleengine::rewrite::meanings

#endif  // RULEENGINE_CORE_REWRITE_MEANINGS_MEANINGS_H_
