// Loops compiled for the vectors of this machine: 512 bits (x86-64-v4), 256
// (x86-64-v3) or 128. The compiler makes the vector code; functions of <cmath>
// come from libmvec, the vector part of the C library, so that a loop over
// std::tanh is as fast as one over additions (docs/decisions/0026).
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__GLIBC__)
#define RULEENGINE_VECTORS 1
#else
#define RULEENGINE_VECTORS 0
#endif

#if RULEENGINE_VECTORS && __GLIBC_PREREQ(2, 35)
// libmvec has versions of these for each width; <cmath> declares them so only
// where all of a program is compiled with -ffast-math. Errors: 4 ulp at most.
#define RULEENGINE_IN_VECTORS(name)                          \
  [[gnu::simd("notinbranch")]] double name(double) noexcept; \
  [[gnu::simd("notinbranch")]] float name##f(float) noexcept;
extern "C" {
RULEENGINE_IN_VECTORS(acos)
RULEENGINE_IN_VECTORS(acosh)
RULEENGINE_IN_VECTORS(asin)
RULEENGINE_IN_VECTORS(asinh)
RULEENGINE_IN_VECTORS(atan)
RULEENGINE_IN_VECTORS(atanh)
RULEENGINE_IN_VECTORS(cos)
RULEENGINE_IN_VECTORS(cosh)
RULEENGINE_IN_VECTORS(erf)
RULEENGINE_IN_VECTORS(exp)
RULEENGINE_IN_VECTORS(expm1)
RULEENGINE_IN_VECTORS(log)
RULEENGINE_IN_VECTORS(log1p)
RULEENGINE_IN_VECTORS(sin)
RULEENGINE_IN_VECTORS(sinh)
RULEENGINE_IN_VECTORS(tan)
RULEENGINE_IN_VECTORS(tanh)
// Not in double, where whole powers of whole numbers have to be exact.
[[gnu::simd("notinbranch")]] float powf(float, float) noexcept;
}
#undef RULEENGINE_IN_VECTORS
#endif

namespace ruleengine::runtime {

// For tests of all versions on one machine, RULEENGINE_VECTOR_BITS=256 or =128
// in the environment asks for narrower vectors; other values are ignored.
int vector_bits();

// While one lives, loops of this thread use vectors that every machine has, so
// that their results are the same on all of them.
class CommonVectors {
 public:
  CommonVectors();
  ~CommonVectors();
  CommonVectors(const CommonVectors&) = delete;
  CommonVectors& operator=(const CommonVectors&) = delete;

 private:
  bool before_;
};

// Lambdas that for_vectors calls need it.
#define RULEENGINE_INLINE __attribute__((always_inline))

#if RULEENGINE_VECTORS
template <typename F>
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512"), gnu::flatten]] void
in_512_bits(const F& loop) {
  loop();
}
template <typename F>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] void in_256_bits(
    const F& loop) {
  loop();
}
#endif

// Calls loop(), in the version for this machine. All that it calls is inlined.
template <typename F>
void for_vectors(const F& loop) {
#if RULEENGINE_VECTORS
  if (vector_bits() >= 512) return in_512_bits(loop);
  if (vector_bits() >= 256) return in_256_bits(loop);
#endif
  loop();
}

// out[i] = f(in[i]). `out` may be `in`. Each element is computed by the same
// instructions wherever it stands, so results do not depend on how a tensor is
// cut into pieces.
template <typename From, typename To, typename F>
[[gnu::always_inline]] inline void map_line(const From* in, To* out,
                                            std::int64_t n, const F& f) {
  constexpr std::int64_t kBlock = 16;
  const std::int64_t whole = n & ~(kBlock - 1);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < whole; ++i) out[i] = f(in[i]);
  if (whole == n) return;
  From from[kBlock] = {};
  To to[kBlock];
  for (std::int64_t i = whole; i < n; ++i) from[i - whole] = in[i];
#pragma GCC ivdep
  for (std::int64_t i = 0; i < kBlock; ++i) to[i] = f(from[i]);
  for (std::int64_t i = whole; i < n; ++i) out[i] = to[i - whole];
}

}  // namespace ruleengine::runtime
