#include "core/ops/dialect/contrib_heads.h"

#include <limits>
#include <string>
#include <utility>

#include "core/ops/dialect.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {

using ir::ValueId;

std::int64_t heads_of(const CallSite& call, std::string_view attribute) {
  const std::int64_t heads = call.int_of(attribute);
  if (heads > 0 && heads <= kMostSize) return heads;
  call.body().refuse("'" + std::string(attribute) +
                     "' is not a positive number of heads");
  return 1;
}

void refuse_inputs(const CallSite& call,
                   std::initializer_list<std::string_view> inputs) {
  for (const std::string_view input : inputs) {
    if (call[input]) {
      call.body().refuse("input '" + std::string(input) + "' has no meaning");
    }
  }
}

void refuse_attributes(const CallSite& call,
                       std::initializer_list<std::string_view> attributes) {
  for (const std::string_view attribute : attributes) {
    if (call.is_written(attribute) && call.int_of(attribute) != 0) {
      call.body().refuse("attribute '" + std::string(attribute) +
                         "' has no meaning");
    }
  }
}

Past past_of(const CallSite& call) {
  const Past past{call["past_key"], call["past_value"]};
  if (past.keys.valid() != past.values.valid()) {
    call.body().refuse("only one of 'past_key' and 'past_value' is given");
  }
  return past;
}

ValueId split_heads(Body& body, ValueId x, std::int64_t heads,
                    std::int64_t size) {
  const ValueId parts = body.reshaped(x, {0, 0, heads, size > 0 ? size : -1},
                                      "head_sizes", "by_head");
  return body.transposed(parts, {0, 2, 1, 3}, "heads_apart");
}

ValueId merged_heads(Body& body, ValueId x, std::int64_t width) {
  return body.reshaped(body.transposed(x, {0, 2, 1, 3}, "heads_together"),
                       {0, 0, width > 0 ? width : -1}, "merged", "output");
}

ValueId after_past(Body& body, ValueId past, ValueId x) {
  return past ? body.joined({past, x}, "present", 2) : x;
}

ValueId never(Body& body, ValueId like) {
  return body.number(-std::numeric_limits<double>::infinity(), like, "never");
}

void add_scale(const CallSite& call, Body::Attributes& attributes) {
  if (call.is_written("scale") && call.float_of("scale") != 0) {
    attributes.push_back(Body::real("scale", call.float_of("scale")));
  }
}

ValueId attended(const CallSite& call, const Attended& a) {
  Body::Attributes attributes;
  if (!a.may_hide_all) attributes.push_back(Body::integer("guarded", 0));
  if (a.is_causal) attributes.push_back(Body::integer("is_causal", 1));
  attributes.push_back(Body::integer("num_heads", a.heads));
  add_scale(call, attributes);
  if (a.softcap != 0) attributes.push_back(Body::real("softcap", a.softcap));
  return call.body().call(dialect::kOwn, "ScaledDotProductAttention",
                          {a.q, a.k, a.v, a.mask}, std::move(attributes))[0];
}

}  // namespace ruleengine::ops
