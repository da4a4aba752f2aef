// Reads TypeProto and ValueInfoProto into the model's arena. Negative sizes,
// which some exporters write for "unknown", become unknown dimensions. Types
// other than tensors stay encoded, after a check that their nesting is bounded.
// See context.h for lifetimes and failure.
#pragma once

#include <string_view>

#include "core/io/read/context.h"
#include "core/ir/type.h"

namespace ruleengine::io {

// The limit on the nesting of sequences, optionals and maps.
inline constexpr int kMaxTypeNesting = 64;

// `type` becomes nullptr when the message gives no type.
bool read_type(Context& context, Bytes proto, const Place& place,
               const ir::Type*& type);

// The name is a view; `type` is empty when there is none.
struct ValueInfo {
  std::string_view name;
  Bytes type;
};
bool read_value_info(Context& context, Bytes proto, const Place& place,
                     ValueInfo& info);

}  // namespace ruleengine::io
