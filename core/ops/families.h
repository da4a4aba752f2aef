// The list of all families of ops, a file each in core/ops/standard and
// core/ops/dialect. Internal to core/ops.
#pragma once

#include "core/ops/op_row.h"

namespace ruleengine::ops {

using Family = std::span<const OpRow> (*)();

namespace standard {
std::span<const OpRow> arithmetic();
std::span<const OpRow> attention();
std::span<const OpRow> cast();
std::span<const OpRow> comparison();
std::span<const OpRow> control();
std::span<const OpRow> convolution();
std::span<const OpRow> expand();
std::span<const OpRow> gather();
std::span<const OpRow> generators();
std::span<const OpRow> layout();
std::span<const OpRow> norms();
std::span<const OpRow> products();
std::span<const OpRow> quantization();
std::span<const OpRow> reductions();
std::span<const OpRow> slice();
std::span<const OpRow> unary();
std::span<const OpRow> views();
}  // namespace standard

namespace dialect {
std::span<const OpRow> attention();
std::span<const OpRow> collectives();
std::span<const OpRow> contrib();
std::span<const OpRow> contrib_attention();
std::span<const OpRow> contrib_blocked();
std::span<const OpRow> contrib_products();
std::span<const OpRow> contrib_qlinear();
std::span<const OpRow> contrib_quantized();
std::span<const OpRow> experts();
std::span<const OpRow> grouped_attention();
std::span<const OpRow> norms();
std::span<const OpRow> projections();
std::span<const OpRow> rotary();
std::span<const OpRow> mxfp4();
std::span<const OpRow> quantized_linear();
std::span<const OpRow> quantizers();
std::span<const OpRow> window_attention();
std::span<const OpRow> windows();
}  // namespace dialect

inline constexpr Family kFamilies[] = {standard::arithmetic,
                                       standard::attention,
                                       standard::cast,
                                       standard::comparison,
                                       standard::control,
                                       standard::convolution,
                                       standard::expand,
                                       standard::gather,
                                       standard::generators,
                                       standard::layout,
                                       standard::norms,
                                       standard::products,
                                       standard::quantization,
                                       standard::reductions,
                                       standard::slice,
                                       standard::unary,
                                       standard::views,
                                       dialect::attention,
                                       dialect::collectives,
                                       dialect::contrib,
                                       dialect::contrib_attention,
                                       dialect::contrib_blocked,
                                       dialect::contrib_products,
                                       dialect::contrib_qlinear,
                                       dialect::contrib_quantized,
                                       dialect::experts,
                                       dialect::grouped_attention,
                                       dialect::rotary,
                                       dialect::norms,
                                       dialect::projections,
                                       dialect::mxfp4,
                                       dialect::quantized_linear,
                                       dialect::quantizers,
                                       dialect::window_attention,
                                       dialect::windows};

}  // namespace ruleengine::ops
