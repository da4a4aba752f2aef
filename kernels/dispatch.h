// From an element type to C++ types, and back. Internal to kernels.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/ir/element_types.h"
#include "runtime/preparation.h"

namespace ruleengine::kernels {

using ir::Joined;
using ir::kTypeOf;
using ir::Types;
using runtime::Call;
using runtime::DataType;
using runtime::Datum;
using runtime::Dims;
using runtime::fail;
using runtime::Ints;
using runtime::Op;
using runtime::Preparation;
using runtime::RunContext;
using runtime::Shape;
using runtime::String;
using runtime::Tensor;
using runtime::Ticker;

// The preparation of an op that is a class: its constructor prepares, and
// calling it runs.
template <typename F>
Op prepared(const Preparation& p) {
  return F(p);
}

using Floats = ir::FloatTypes;
using Integers = ir::IntegerTypes;
using Numbers = ir::NumberTypes;
using NumbersAndBool = Joined<Numbers, Types<bool>>;
using NumbersBoolAndComplex = ir::ElementTypes;

// Fails, since a kernel computes in `known` types only.
[[noreturn]] void not_computed(DataType dtype,
                               std::initializer_list<DataType> known);

// Calls f.operator()<T>() for the type of the list that `dtype` is; fails for
// any other.
template <typename F, typename... T>
void dispatch(Types<T...>, DataType dtype, F&& f) {
  if (visit_type(Types<T...>(), dtype, f)) return;
  not_computed(dtype, {kTypeOf<T>...});
}

// Calls f.operator()<T>() with an integer type of the width of an element, for
// kernels that only move elements; String for strings, a complex type for
// 16 bytes. Types below a byte must be unpacked (Adapt::kUnpack).
template <typename F>
void dispatch_width(DataType dtype, F&& f) {
  if (dtype == DataType::kString) {
    return f.template operator()<String>();
  }
  switch (ir::bit_width(dtype)) {
    case 8:
      return f.template operator()<std::uint8_t>();
    case 16:
      return f.template operator()<std::uint16_t>();
    case 32:
      return f.template operator()<std::uint32_t>();
    case 64:
      return f.template operator()<std::uint64_t>();
    case 128:
      return f.template operator()<std::complex<double>>();
    default:
      fail("the kernel does not move elements of this type",
           "8, 16, 32, 64 or 128 bits", std::string(ir::data_type_name(dtype)));
  }
}

// The quotient rounded up; `b` is positive.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a > 0 ? (a - 1) / b + 1 : -(-a / b);
}

inline std::size_t index_of(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

inline std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& each : out) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each + 'a' - 'A');
  }
  return out;
}

// The elements, strings as well.
template <typename T>
const T* elements(const Tensor& t) {
  static_assert(!std::is_same_v<T, std::string>);  // String
  if constexpr (std::is_same_v<T, String>) {
    return t.strings().data();
  } else {
    return t.data<T>();
  }
}
template <typename T>
T* mutable_elements(Tensor& t) {
  static_assert(!std::is_same_v<T, std::string>);
  if constexpr (std::is_same_v<T, String>) {
    return t.mutable_strings().data();
  } else {
    return t.mutable_data<T>();
  }
}

template <typename T>
Tensor scalar(const RunContext& c, T value) {
  Tensor out = c.allocate(kTypeOf<T>, {});
  *out.mutable_data<T>() = value;
  return out;
}

// A tensor of one axis, of numbers or strings.
template <typename T, typename Values>
Tensor list_of(const RunContext& c, const Values& values) {
  const std::int64_t count = std::ssize(values);
  Tensor out = c.allocate(
      std::is_same_v<T, String> ? DataType::kString : kTypeOf<T>, {&count, 1});
  std::ranges::copy(values, mutable_elements<T>(out));
  return out;
}

}  // namespace ruleengine::kernels
