// Result<T>: a value or a Diagnostic. Every call of the core that can fail on
// input returns one; exceptions are for bugs and memory. Status is a Result
// without a value.
#pragma once

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/diagnostic.h"

namespace ruleengine {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return (assert(ok()), std::get<0>(state_)); }
  const T& value() const& { return (assert(ok()), std::get<0>(state_)); }
  T&& value() && { return (assert(ok()), std::get<0>(std::move(state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Diagnostic& error() const { return std::get<1>(state_); }
  Diagnostic& error() { return std::get<1>(state_); }

 private:
  std::variant<T, Diagnostic> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Diagnostic error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Diagnostic& error() const { return *error_; }
  Diagnostic& error() { return *error_; }

 private:
  std::optional<Diagnostic> error_;
};

}  // namespace ruleengine
