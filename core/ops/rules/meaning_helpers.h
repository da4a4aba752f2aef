// What meanings of ops share. Internal to core/ops.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/ops/call_site.h"

namespace ruleengine::ops {

// No size that is meant is above; products of two fit into 64 bits.
inline constexpr std::int64_t kMostSize = std::int64_t{1} << 30;

// The type of ONNX's number; kUndefined for what is far from any.
inline ir::DataType element_type(std::int64_t number) {
  const bool is_near = number >= 0 && number < 256;
  return is_near ? static_cast<ir::DataType>(number) : ir::DataType::kUndefined;
}

// The type that a meaning computes in: double where this input is, else float.
class Wide {
 public:
  Wide(const CallSite& call, ir::DataType own) : call_(call), own_(own) {
    if (own_ == ir::DataType::kUndefined) {
      call.body().refuse("the type is unknown");
    }
  }
  Wide(const CallSite& call, std::string_view input)
      : Wide(call, call.elem(input)) {}

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
  const CallSite& call_;
  ir::DataType own_;
};

}  // namespace ruleengine::ops
