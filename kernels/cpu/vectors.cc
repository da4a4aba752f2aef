#include "kernels/cpu/vectors.h"

#include <algorithm>
#include <cstdlib>

namespace ruleengine::kernels {
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
    const int most = asked == nullptr ? 0 : std::atoi(asked);
    return most <= 0 ? widest() : std::min(most, widest());
  }();
  return bits;
}

}  // namespace ruleengine::kernels
