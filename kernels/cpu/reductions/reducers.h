// What each reduction does with its terms: its sum starts as a default Sum, add
// takes a term, merge the sum of other terms, finish gives the result. Terms
// names the reduction that has the same sums. Internal to kernels/cpu.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/number.h"
#include "kernels/cpu/reductions/fold.h"
#include "kernels/dispatch.h"

namespace ruleengine::kernels {

// A sum of whole numbers as the number that it is.
template <typename T>
double as_double(SumType<T> sum) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return static_cast<double>(static_cast<std::int64_t>(sum));
  } else {
    return static_cast<double>(sum);
  }
}

template <typename T>
struct PlainSum {
  using Terms = PlainSum;
  struct Sum {
    SumType<T> value = 0;
  };
  static void add(Sum& s, T x) { s.value += static_cast<SumType<T>>(x); }
  static void merge(Sum& s, const Sum& other) { s.value += other.value; }
  static T finish(const Sum& s, std::int64_t) {
    return static_cast<T>(s.value);
  }
};

template <typename T>
struct Mean : PlainSum<T> {
  static T finish(const PlainSum<T>::Sum& s, std::int64_t terms) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(s.value / static_cast<double>(terms));
    } else {
      if (terms == 0) fail("the mean of no integers is not defined");
      using Whole =
          std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      return static_cast<T>(static_cast<Whole>(s.value) /
                            static_cast<Whole>(terms));
    }
  }
};

template <typename T>
struct AbsoluteSum : PlainSum<T> {
  using Terms = AbsoluteSum;
  static void add(PlainSum<T>::Sum& s, T x) {
    if constexpr (std::is_floating_point_v<T>) {
      s.value += std::abs(static_cast<double>(x));
    } else {
      const auto wide = static_cast<std::uint64_t>(x);
      s.value += x < T(0) ? 0 - wide : wide;
    }
  }
};

template <typename T>
struct SquareSum : PlainSum<T> {
  using Terms = SquareSum;
  static void add(PlainSum<T>::Sum& s, T x) {
    const auto wide = static_cast<SumType<T>>(x);
    s.value += wide * wide;
  }
};

template <typename T>
struct Norm : SquareSum<T> {
  static T finish(const PlainSum<T>::Sum& s, std::int64_t) {
    return to_number<T>(std::sqrt(as_double<T>(s.value)));
  }
};

template <typename T>
struct LogSum : PlainSum<T> {
  static T finish(const PlainSum<T>::Sum& s, std::int64_t) {
    return to_number<T>(std::log(as_double<T>(s.value)));
  }
};

template <typename T>
struct Product {
  using Terms = Product;
  struct Sum {
    SumType<T> value = 1;
  };
  static void add(Sum& s, T x) { s.value *= static_cast<SumType<T>>(x); }
  static void merge(Sum& s, const Sum& other) { s.value *= other.value; }
  static T finish(const Sum& s, std::int64_t) {
    return static_cast<T>(s.value);
  }
};

// NaN wins.
template <typename T, bool kIsLargest>
struct Extreme {
  using Terms = Extreme;
  struct Sum {
    T value = kIsLargest ? kLowest<T> : kHighest<T>;
  };
  static void add(Sum& s, T x) {
    const bool wins = kIsLargest ? x > s.value : x < s.value;
    const bool is_nan = x != x;
    s.value = wins | is_nan ? x : s.value;
  }
  static void merge(Sum& s, const Sum& other) { add(s, other.value); }
  static T finish(const Sum& s, std::int64_t) { return s.value; }
};
template <typename T>
using Largest = Extreme<T, true>;
template <typename T>
using Smallest = Extreme<T, false>;

// The logarithm of the sum of exponentials: the sum is relative to the largest
// term so far.
template <typename T>
struct LogSumExp {
  using Terms = LogSumExp;
  struct Sum {
    double largest = -std::numeric_limits<double>::infinity();
    double value = 0;
  };
  static void add(Sum& s, T x) { merge(s, {static_cast<double>(x), 1}); }
  static void merge(Sum& s, const Sum& other) {
    if (other.value == 0) return;
    if (other.largest == s.largest) {
      s.value += other.value;
    } else if (other.largest < s.largest) {
      s.value += other.value * std::exp(other.largest - s.largest);
    } else {
      s.value = s.value * std::exp(s.largest - other.largest) + other.value;
      s.largest = other.largest;
    }
  }
  static T finish(const Sum& s, std::int64_t) {
    return to_number<T>(std::log(s.value) + s.largest);
  }
};

}  // namespace ruleengine::kernels
