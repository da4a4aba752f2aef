// What is behind the handles of ruleengine.h, and how its functions begin and
// end: no exception leaves them, and each handle is checked and held.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>

#include "bindings/api/failure.h"
#include "bindings/c/ruleengine.h"

namespace ruleengine::c {

using api::check, api::misuse, api::take;

// The error for the exception that is being handled. One for which there is no
// memory is one that all callers share.
re_error* error_of_exception() noexcept;

// What a function of the header does.
template <typename F>
re_error* guarded(const F& f) noexcept {
  try {
    f();
    return nullptr;
  } catch (...) {
    return error_of_exception();
  }
}

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
  template <typename T>
  explicit Use(T* handle) : Use(handle, T::kType) {}
  ~Use() { held_->used_ = false; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Use(Handle* handle, const char* type);
  Handle* const held_;
};

// Throws unless a struct may have this size: no field of one ends within a
// word.
void check_size(std::size_t size);

// A copy of a struct of options, of which older callers have less. Throws where
// a newer caller sets something that this library does not know.
template <typename T>
T options_of(const T* given) {
  static_assert(sizeof(T) % sizeof(std::size_t) == 0);
  T out{};
  if (given == nullptr) return out;
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  check_size(size);
  const char* bytes = reinterpret_cast<const char*>(given);
  for (std::size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      throw misuse("a struct of options has more than this library knows",
                   std::to_string(sizeof(T)) + " bytes that are not 0",
                   std::to_string(size) + " bytes");
    }
  }
  std::memcpy(&out, given, std::min(size, sizeof(T)));
  return out;
}

// Fills the part of a struct that the caller knows, and the rest with 0.
template <typename T>
void give(T from, T* to) {
  if (to == nullptr) throw misuse("the struct to fill is NULL");
  const std::size_t size = to->size;
  check_size(size);
  from.size = size;
  const std::size_t known = std::min(size, sizeof(T));
  std::memcpy(to, &from, known);
  std::memset(reinterpret_cast<char*>(to) + known, 0, size - known);
}

// "" for NULL.
inline std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// Throws unless the pointer is set; `what`: "`model`".
void need(const void* pointer, const char* what);
// The same of where a result goes, which is nothing until then.
template <typename T>
void clear(T* to, const char* what) {
  need(to, what);
  *to = {};
}

}  // namespace ruleengine::c
