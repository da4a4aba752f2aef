// An error on its way to Python, where it becomes a ruleengine.Error.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/diagnostic.h"
#include "core/base/result.h"

namespace ruleengine::python {

namespace nb = nanobind;

struct Failure : std::exception {
  explicit Failure(Diagnostic d, std::string json = {})
      : error(std::move(d)), report(std::move(json)) {}
  const char* what() const noexcept override { return error.what.c_str(); }

  Diagnostic error;
  std::string report;  // JSON of what was known by then; may be ""
};

inline Failure misuse(std::string what, std::string expected = {},
                      std::string found = {}) {
  return Failure({.kind = ErrorKind::kUsage,
                  .what = std::move(what),
                  .expected = std::move(expected),
                  .found = std::move(found)});
}

inline void check(const Status& status) {
  if (!status) throw Failure(status.error());
}

template <typename T>
T take(Result<T> result) {
  if (!result) throw Failure(result.error());
  return *std::move(result);
}

// A str; bytes that are not UTF-8 are escaped.
nb::str text(std::string_view bytes);

// Makes Failure, and what the standard library throws, exceptions of the
// package.
void register_failures();

}  // namespace ruleengine::python
