#include "runtime/vectors.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace ruleengine::runtime {
namespace {

int widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return 512;
  if (__builtin_cpu_supports("x86-64-v3")) return 256;
#endif
  return 128;
}

}  // namespace

int vector_bits() {
  static const int bits = [] {
    const char* asked = std::getenv("RULEENGINE_VECTOR_BITS");
    const std::string_view most = asked == nullptr ? "" : asked;
    if (most == "128") return 128;
    return most == "256" ? std::min(256, widest()) : widest();
  }();
  return bits;
}

}  // namespace ruleengine::runtime
