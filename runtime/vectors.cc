#include "runtime/vectors.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace ruleengine::runtime {
namespace {

constexpr int kCommon = 128;

int widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return 512;
  if (__builtin_cpu_supports("x86-64-v3")) return 256;
#endif
  return kCommon;
}

thread_local bool common_only = false;

}  // namespace

CommonVectors::CommonVectors() : before_(std::exchange(common_only, true)) {}
CommonVectors::~CommonVectors() { common_only = before_; }

int vector_bits() {
  if (common_only) return kCommon;
  static const int bits = [] {
    const char* asked = std::getenv("RULEENGINE_VECTOR_BITS");
    const std::string_view most = asked == nullptr ? "" : asked;
    if (most == "128") return kCommon;
    return most == "256" ? std::min(256, widest()) : widest();
  }();
  return bits;
}

}  // namespace ruleengine::runtime
