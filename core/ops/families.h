// The list of all families of ops, a file each in core/ops/standard and
// core/ops/dialect. Internal to core/ops.
#pragma once

#include "core/ops/op_row.h"

namespace ruleengine::ops {

using Family = std::span<const OpRow>();

namespace standard {
Family arithmetic, attention, cast, comparison, control, convolution, expand,
    gather, generators, layout, norms, products, quantization, reductions,
    slice, unary, views;
inline constexpr Family* kFamilies[] = {
    arithmetic,   attention,  cast,       comparison, control, convolution,
    expand,       gather,     generators, layout,     norms,   products,
    quantization, reductions, slice,      unary,      views};
}  // namespace standard

namespace dialect {
Family attention, collectives, contrib, contrib_attention, contrib_blocked,
    contrib_products, contrib_qlinear, contrib_quantized, experts,
    grouped_attention, mxfp4, norms, projections, quantized_linear, quantizers,
    rotary, window_attention, windows;
inline constexpr Family* kFamilies[] = {attention,
                                        collectives,
                                        contrib,
                                        contrib_attention,
                                        contrib_blocked,
                                        contrib_products,
                                        contrib_qlinear,
                                        contrib_quantized,
                                        experts,
                                        grouped_attention,
                                        mxfp4,
                                        norms,
                                        projections,
                                        quantized_linear,
                                        quantizers,
                                        rotary,
                                        window_attention,
                                        windows};
}  // namespace dialect

}  // namespace ruleengine::ops
