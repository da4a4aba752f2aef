// Failure: how a way in says that a call failed. The library returns a Result;
// a way in throws its Diagnostic, and has one place that catches it and makes
// of it an exit code, an re_error, or an exception of Python.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "core/base/diagnostic.h"
#include "core/base/result.h"

namespace ruleengine::api {

struct Failure : std::exception {
  explicit Failure(Diagnostic d, std::string json = {})
      : error(std::move(d)), report(std::move(json)) {}
  const char* what() const noexcept override { return error.what.c_str(); }
  // Says which input of a model it is about, unless it says already where.
  void in_input(const std::string& name) {
    if (error.where.empty()) error.where = "input " + quoted_name(name);
  }

  Diagnostic error;
  std::string report;  // JSON of what was known by then; may be ""
};

// A fault of the caller.
inline Failure misuse(std::string what, std::string expected = {},
                      std::string found = {}, std::string hint = {}) {
  return Failure({.kind = ErrorKind::kUsage,
                  .what = std::move(what),
                  .expected = std::move(expected),
                  .found = std::move(found),
                  .hint = std::move(hint)});
}

inline void check(const Status& status) {
  if (!status) throw Failure(status.error());
}

template <typename T>
T take(Result<T> result) {
  if (!result) throw Failure(result.error());
  return *std::move(result);
}

}  // namespace ruleengine::api
