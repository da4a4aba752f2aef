// What the tests of kernels share: buffers that end where their elements do,
// launches in each order of warps, and comparisons with doubles.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

// The half types; the emulator gives the words of CUDA that they need.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/cuda/emulator/emulator.h"

namespace ruleengine::kernels::device {

using emulator::Order;
using std::int64_t;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Order kOrders[] = {Order::kForward, Order::kReverse, Order::kRandom};

inline double to_double(double x) { return x; }
inline double to_double(__half x) { return __half2float(x); }
inline double to_double(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
T of_double(double x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(static_cast<float>(x));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

template <typename T>
const char* suffix() {
  if constexpr (std::is_same_v<T, __half>) return "f16";
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return "bf16";
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, std::int32_t>) return "i32";
  return "i64";
}

// The error of a correct result, relative to it: one rounding, and a few of
// float before.
template <typename T>
double tolerance() {
  if constexpr (std::is_same_v<T, __half>) return 1.02 / 2048;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return 1.02 / 256;
  return 2e-6;
}

// Elements whose address is `skip` elements after a multiple of 64; nothing
// follows them, so that AddressSanitizer sees what goes beyond.
template <typename T>
class Buffer {
 public:
  explicit Buffer(int64_t count, int skip = 0) : count_(count), skip_(skip) {
    void* data = nullptr;
    const auto size = static_cast<std::size_t>(count + skip) * sizeof(T);
    if (::posix_memalign(&data, 64, std::max<std::size_t>(size, 1)) != 0) {
      std::abort();
    }
    data_.reset(static_cast<T*>(data));
    std::memset(data, 0xFF, size);
  }
  Buffer(const std::vector<double>& values, int skip = 0)
      : Buffer(static_cast<int64_t>(values.size()), skip) {
    for (int64_t i = 0; i < count_; ++i) {
      (*this)[i] = of_double<T>(values[static_cast<std::size_t>(i)]);
    }
  }

  T* data() { return data_.get() + skip_; }
  int64_t size() const { return count_; }
  T& operator[](int64_t i) { return data()[i]; }
  double at(int64_t i) { return to_double((*this)[i]); }
  // As if it was never written: NaN, or -1.
  void clear() {
    std::memset(static_cast<void*>(data()), 0xFF,
                static_cast<std::size_t>(count_) * sizeof(T));
  }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  int64_t count_;
  int skip_;
  std::unique_ptr<T, Free> data_;
};

template <typename T>
Buffer<T> random_buffer(int64_t count, int skip = 0, double most = 4,
                        unsigned seed = 1) {
  std::mt19937 random(seed + static_cast<unsigned>(count));
  std::uniform_real_distribution<double> numbers(-most, most);
  Buffer<T> buffer(count, skip);
  for (int64_t i = 0; i < count; ++i) buffer[i] = of_double<T>(numbers(random));
  return buffer;
}

struct Shape {
  unsigned blocks = 1, threads = 256;
  std::size_t shared = 0;
};

template <typename Args>
void run(const std::string& name, const Args& args, const Shape& shape,
         Order order) {
  const emulator::Kernel* kernel = emulator::find_kernel(name);
  INFO(name);
  REQUIRE(kernel != nullptr);
  REQUIRE(kernel->args_size == sizeof(Args));
  emulator::launch(*kernel,
                   {.grid = {shape.blocks},
                    .block = {shape.threads},
                    .shared_bytes = shape.shared,
                    .order = order,
                    .seed = 11},
                   &args);
}

inline bool is_close(double got, double want, double relative,
                     double absolute) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;  // also where both are infinite
  return std::abs(got - want) <= relative * std::abs(want) + absolute;
}

// Whether each element is close to want(i); says where the first is not.
template <typename T, typename F>
void check_close(Buffer<T>& got, const F& want, double relative,
                 double absolute = 0) {
  for (int64_t i = 0; i < got.size(); ++i) {
    const double expected = want(i);
    if (is_close(got.at(i), expected, relative, absolute)) continue;
    CAPTURE(i);
    CAPTURE(got.at(i));
    CAPTURE(expected);
    REQUIRE(false);
  }
  CHECK(got.size() >= 0);
}

// Runs in each order, from cleared outputs, and compares.
template <typename Args, typename T, typename F>
void check_kernel(const std::string& name, const Args& args, const Shape& shape,
                  Buffer<T>& out, const F& want, double relative,
                  double absolute = 0) {
  CAPTURE(name);
  for (const Order order : kOrders) {
    out.clear();
    run(name, args, shape, order);
    check_close(out, want, relative, absolute);
  }
}

template <typename T>
std::string named(const char* name) {
  return std::string(name) + "_" + suffix<T>();
}

}  // namespace ruleengine::kernels::device
