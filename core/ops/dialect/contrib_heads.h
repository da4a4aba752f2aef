// What the meanings of ONNX Runtime's ops share, those of attention above all.
// Internal to core/ops/dialect.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/ops/call_site.h"

namespace ruleengine::ops {

// The attribute; anything but a positive number of heads is refused, and 1.
std::int64_t heads_of(const CallSite& call, std::string_view attribute);

// Refuses a call that has one of these inputs; or that gives one of these
// integer attributes a value other than 0.
void refuse_inputs(const CallSite& call,
                   std::initializer_list<std::string_view> inputs);
void refuse_attributes(const CallSite& call,
                       std::initializer_list<std::string_view> attributes);

// 'past_key' and 'past_value' of the call, [B,heads,P,D]: both or neither.
struct Past {
  ir::ValueId keys, values;
};
Past past_of(const CallSite& call);

// [B,S,heads*D] as [B,heads,S,D], and back. A size of 0 is not known.
ir::ValueId split_heads(Body& body, ir::ValueId x, std::int64_t heads,
                        std::int64_t size);
ir::ValueId merged_heads(Body& body, ir::ValueId x, std::int64_t width);

// `past`, [B,heads,P,D], before x; x where there is no past.
ir::ValueId after_past(Body& body, ir::ValueId past, ir::ValueId x);

// The number that hides a key when it is added to a score.
ir::ValueId never(Body& body, ir::ValueId like);

// The attribute 'scale' of the call, where it says more than the usual one, for
// which 0 stands, too.
void add_scale(const CallSite& call, Body::Attributes& attributes);

// softmax(cap(q k^T scale) + causal + mask) v of [B,heads,_,D].
struct Attended {
  ir::ValueId q, k, v, mask;
  std::int64_t heads = 0;
  bool is_causal = false;
  float softcap = 0;
  // Whether the mask may hide every key of a query.
  bool may_hide_all = false;
};
ir::ValueId attended(const CallSite& call, const Attended& a);

}  // namespace ruleengine::ops
