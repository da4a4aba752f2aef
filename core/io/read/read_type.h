// Reads TypeProto and ValueInfoProto into the model's arena. Sizes below zero,
// which some exporters write for "unknown", are unknown dimensions. Types that
// are not of tensors keep their encoding, after a check that their nesting is
// bounded. See context.h for lifetimes and failure.
#ifndef RULEENGINE_CORE_IO_READ_READ_TYPE_H_
#define RULEENGINE_CORE_IO_READ_READ_TYPE_H_

#include <string_view>

#include "core/io/read/context.h"
#include "core/ir/type.h"

namespace ruleengine::io {

// Sequences, optionals and maps may be nested this deep.
inline constexpr int kMaxTypeNesting = 64;

// `type` becomes nullptr when the message says nothing.
bool read_type(Context& context, Bytes proto, const Place& place,
               const ir::Type*& type);

// The name is a view; `type` is left empty when there is none.
struct ValueInfo {
  std::string_view name;
  Bytes type;
};
bool read_value_info(Context& context, Bytes proto, const Place& place,
                     ValueInfo& info);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_READ_TYPE_H_
