#include "kernels/cpu/signal/fourier.h"

#include <numbers>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {
namespace {

// exp(-2 pi i part / whole).
Complex root(std::int64_t part, std::int64_t whole) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(part) /
                             static_cast<double>(whole));
}

// Without the checks for infinities that operator* has.
Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

Fourier::Fourier(std::int64_t length, const runtime::Threads& threads)
    : threads_(threads), length_(length) {
  runtime::Ticker tick(threads);
  const auto count = index_of(length);
  std::int64_t rest = length;
  for (const std::int64_t factor : {4, 2, 3, 5}) {
    while (rest > 1 && rest % factor == 0) {
      factors_.push_back(factor);
      rest /= factor;
    }
  }
  if (rest <= 1) {
    roots_.resize(count);
    for (std::int64_t j = 0; j < length; ++j) {
      tick();
      roots_[index_of(j)] = root(j, length);
    }
    return;
  }
  std::int64_t size = 1;
  while (size < 2 * length - 1) size *= 2;
  inner_ = std::make_unique<Fourier>(size, threads);
  chirp_.resize(count);
  std::vector<Complex> inverse(index_of(size));
  std::int64_t square = 0;  // j * j modulo 2 * length
  for (std::size_t j = 0; j < count; ++j) {
    tick();
    chirp_[j] = root(square, 2 * length);
    inverse[j] = std::conj(chirp_[j]);
    if (j > 0) inverse[inverse.size() - j] = inverse[j];
    square = (square + 2 * static_cast<std::int64_t>(j) + 1) % (2 * length);
  }
  kernel_.resize(inverse.size());
  inner_->forward(inverse.data(), kernel_.data());
}

void Fourier::forward(const Complex* in, Complex* out) const {
  if (length_ == 0) return;
  if (inner_ != nullptr) return bluestein(in, out);
  split(in, out, length_, 1, 0);
}

void Fourier::inverse(const Complex* in, Complex* out) const {
  const auto count = index_of(length_);
  std::vector<Complex> turned(count);
  for (std::size_t j = 0; j < count; ++j) turned[j] = std::conj(in[j]);
  forward(turned.data(), out);
  const double scale = 1 / static_cast<double>(length_);
  for (std::size_t j = 0; j < count; ++j) out[j] = std::conj(out[j]) * scale;
}

// Every `step`-th of `in`, `length` of them.
void Fourier::split(const Complex* in, Complex* out, std::int64_t length,
                    std::int64_t step, std::size_t factor) const {
  if (length == 1) {
    *out = *in;
    return;
  }
  constexpr std::int64_t kLong = 1 << 12;
  if (length >= kLong) threads_.look();
  const std::int64_t parts = factors_[factor], each = length / parts;
  for (std::int64_t p = 0; p < parts; ++p) {
    split(in + p * step, out + p * each, each, step * parts, factor + 1);
  }
  // The roots of a transform of `length` are every `step`-th.
  const Complex* roots = roots_.data();
  Complex part[5];
  for (std::int64_t k = 0; k < each; ++k) {
    part[0] = out[k];
    for (std::int64_t p = 1; p < parts; ++p) {
      part[p] = times(out[p * each + k], roots[p * k * step]);
    }
    if (parts == 2) {
      out[k] = part[0] + part[1];
      out[each + k] = part[0] - part[1];
      continue;
    }
    if (parts == 4) {
      const Complex even = part[0] + part[2], odd = part[1] + part[3];
      const Complex less = part[0] - part[2], turn = part[1] - part[3];
      const Complex turned(turn.imag(), -turn.real());  // times -i
      out[k] = even + odd;
      out[each + k] = less + turned;
      out[2 * each + k] = even - odd;
      out[3 * each + k] = less - turned;
      continue;
    }
    for (std::int64_t q = 0; q < parts; ++q) {
      Complex sum = part[0];
      for (std::int64_t p = 1; p < parts; ++p) {
        sum += times(part[p], roots[p * q % parts * each * step]);
      }
      out[q * each + k] = sum;
    }
  }
}

void Fourier::bluestein(const Complex* in, Complex* out) const {
  const std::size_t count = chirp_.size(), size = kernel_.size();
  std::vector<Complex> a(size), b(size);
  for (std::size_t j = 0; j < count; ++j) a[j] = times(in[j], chirp_[j]);
  inner_->forward(a.data(), b.data());
  for (std::size_t j = 0; j < size; ++j) b[j] = times(b[j], kernel_[j]);
  inner_->inverse(b.data(), a.data());
  for (std::size_t j = 0; j < count; ++j) out[j] = times(a[j], chirp_[j]);
}

}  // namespace ruleengine::kernels
