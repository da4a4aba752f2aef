// What is behind the handles of ruleengine.h, and how its functions begin and
// end: no exception leaves them, and each handle is checked and held.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "bindings/c/ruleengine.h"
#include "core/base/diagnostic.h"
#include "core/base/result.h"

namespace ruleengine::c {

// The error, or nullptr. An error for which there is no memory is one that all
// callers share.
re_error* error_of(const Status& status) noexcept;
// The error for the exception that is being handled.
re_error* error_of_exception() noexcept;

// What a function of the header does: f() gives a Status.
template <typename F>
re_error* guarded(F&& f) noexcept {
  try {
    return error_of(std::forward<F>(f)());
  } catch (...) {
    return error_of_exception();
  }
}

Diagnostic misuse(std::string what, std::string expected = {},
                  std::string found = {});

// The common part of the handles that calls hold. One of another type is
// recognised. One that was freed is where the program is built to find reads of
// freed memory.
class Handle {
 public:
  explicit Handle(const char* type) : type_(type) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  friend class Use;
  const char* const type_;
  std::atomic<bool> used_ = false;
};

// Holds a handle during a call.
class Use {
 public:
  Use(Handle* handle, const char* type);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  const Status& status() const { return status_; }

 private:
  Handle* held_ = nullptr;
  Status status_;
};

// An error unless a struct may have this size: no field of one ends within a
// word.
Status check_size(std::size_t size);

// A copy of a struct of options, of which older callers have less. An error
// where a newer caller sets something that this library does not know.
template <typename T>
Result<T> options_of(const T* given) {
  static_assert(sizeof(T) % sizeof(std::size_t) == 0);
  T out{};
  if (given == nullptr) return out;
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (Status s = check_size(size); !s) return s.error();
  const char* bytes = reinterpret_cast<const char*>(given);
  for (std::size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      return misuse("a struct of options has more than this library knows",
                    std::to_string(sizeof(T)) + " bytes that are not 0",
                    std::to_string(size) + " bytes");
    }
  }
  std::memcpy(&out, given, std::min(size, sizeof(T)));
  return out;
}

// Fills the part of a struct that the caller knows, and the rest with 0.
template <typename T>
Status give(T from, T* to) {
  if (to == nullptr) return misuse("the struct to fill is NULL");
  const std::size_t size = to->size;
  if (Status s = check_size(size); !s) return s;
  from.size = size;
  const std::size_t known = std::min(size, sizeof(T));
  std::memcpy(to, &from, known);
  std::memset(reinterpret_cast<char*>(to) + known, 0, size - known);
  return {};
}

// "" for NULL.
inline std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// An error unless the pointer is set; `what`: "`model`".
Status need(const void* pointer, const char* what);

}  // namespace ruleengine::c
