// The domains of the ops outside the standard that the engine makes and reads
// itself. Their ops: core/ops/dialect/; their meaning: docs/dialect.md.
#pragma once

#include <string_view>

namespace ruleengine::ops::dialect {

inline constexpr std::string_view kAten = "aten";
// Open: it has many more ops than the target ort writes.
inline constexpr std::string_view kMicrosoft = "com.microsoft";
inline constexpr std::string_view kOwn = "ruleengine";
inline constexpr std::string_view kCast = "tensor_cast";

// Those in which there are no other ops. All versions are 1.
inline constexpr std::string_view kClosed[] = {kAten, kOwn, kCast};

}  // namespace ruleengine::ops::dialect
