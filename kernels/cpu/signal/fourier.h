// The discrete Fourier transform of any length, in double: products of 2, 3 and
// 5 by splitting, other lengths by Bluestein's convolution. Internal to
// kernels/cpu.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/threads.h"

namespace ruleengine::kernels {

using Complex = std::complex<double>;

// A plan for one length; may be used by several threads, each with its own
// scratch.
class Fourier {
 public:
  // `threads` is asked in long loops, and must outlive the plan.
  Fourier(std::int64_t length, const runtime::Threads& threads);

  // out[k] = sum of in[j] * exp(-2 pi i j k / length); `out` is not `in`.
  void forward(const Complex* in, Complex* out) const;
  // The same with exp(+...), divided by the length.
  void inverse(const Complex* in, Complex* out) const;

 private:
  void split(const Complex* in, Complex* out, std::int64_t length,
             std::int64_t step, std::size_t factor) const;
  void bluestein(const Complex* in, Complex* out) const;

  const runtime::Threads& threads_;
  std::int64_t length_;
  std::vector<std::int64_t> factors_;
  std::vector<Complex> roots_;  // exp(-2 pi i j / length)
  // Bluestein's: exp(-pi i j^2 / length), and the transform of its inverse.
  std::vector<Complex> chirp_, kernel_;
  std::unique_ptr<Fourier> inner_;
};

}  // namespace ruleengine::kernels
