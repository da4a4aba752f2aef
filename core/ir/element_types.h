// From an element type to C++ types, and back.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "core/ir/data_type.h"

namespace ruleengine::ir {

// kUndefined for a type that is not of elements.
template <typename T>
consteval DataType type_of() {
  if (std::is_same_v<T, float>) return DataType::kFloat;
  if (std::is_same_v<T, double>) return DataType::kDouble;
  if (std::is_same_v<T, bool>) return DataType::kBool;
  if (std::is_same_v<T, std::int8_t>) return DataType::kInt8;
  if (std::is_same_v<T, std::int16_t>) return DataType::kInt16;
  if (std::is_same_v<T, std::int32_t>) return DataType::kInt32;
  if (std::is_same_v<T, std::int64_t>) return DataType::kInt64;
  if (std::is_same_v<T, std::uint8_t>) return DataType::kUint8;
  if (std::is_same_v<T, std::uint16_t>) return DataType::kUint16;
  if (std::is_same_v<T, std::uint32_t>) return DataType::kUint32;
  if (std::is_same_v<T, std::uint64_t>) return DataType::kUint64;
  if (std::is_same_v<T, std::complex<float>>) return DataType::kComplex64;
  if (std::is_same_v<T, std::complex<double>>) return DataType::kComplex128;
  return DataType::kUndefined;
}
template <typename T>
inline constexpr DataType kTypeOf = type_of<T>();

template <typename... T>
struct Types {};
template <typename... A, typename... B>
Types<A..., B...> join(Types<A...>, Types<B...>);
template <typename A, typename B>
using Joined = decltype(join(A(), B()));

using FloatTypes = Types<float, double>;
using IntegerTypes =
    Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
          std::uint16_t, std::uint32_t, std::uint64_t>;
using NumberTypes = Joined<FloatTypes, IntegerTypes>;
using ElementTypes =
    Joined<NumberTypes, Types<bool, std::complex<float>, std::complex<double>>>;

// Calls f.operator()<T>() for the type of the list that `dtype` is; false
// where it is another.
template <typename F, typename... T>
bool visit_type(Types<T...>, DataType dtype, F&& f) {
  return ((dtype == kTypeOf<T> ? (f.template operator()<T>(), true) : false) ||
          ...);
}

}  // namespace ruleengine::ir
