#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

#include "bindings/c/handle.h"
#include "core/base/version.h"

struct re_error {
  re_kind kind;
  const char *what, *where, *expected, *found, *hint, *text;
  // What the pointers point into; nullptr: constants.
  struct Texts {
    ruleengine::Diagnostic parts;
    std::string text;
  };
  Texts* own;
};

namespace ruleengine::c {
namespace {

constexpr re_error kNoMemory = {
    RE_ERROR_LIMIT,          "memory ran out", "", "", "", "",
    "error: memory ran out", nullptr};

re_error* no_memory() { return const_cast<re_error*>(&kNoMemory); }

re_kind kind_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return RE_ERROR_USAGE;
    case ErrorKind::kModel:
      return RE_ERROR_MODEL;
    case ErrorKind::kRule:
      return RE_ERROR_RULE;
    case ErrorKind::kLimit:
      return RE_ERROR_LIMIT;
    case ErrorKind::kVerify:
      return RE_ERROR_VERIFY;
    case ErrorKind::kWrite:
      return RE_ERROR_WRITE;
    case ErrorKind::kCancelled:
      return RE_ERROR_CANCELLED;
    case ErrorKind::kInternal:
      break;
  }
  return RE_ERROR_INTERNAL;
}

// Text that ends with its first NUL would lose the rest.
std::string without_nul(std::string text) {
  return text.find('\0') == text.npos ? text : printable(text, text.npos);
}

re_error* error_of(Diagnostic d) noexcept {
  try {
    auto own = std::make_unique<re_error::Texts>();
    own->text = d.text();
    own->parts = std::move(d);
    Diagnostic& parts = own->parts;
    for (std::string* each : {&parts.what, &parts.where, &parts.expected,
                              &parts.found, &parts.hint, &own->text}) {
      *each = without_nul(std::move(*each));
    }
    auto out = std::make_unique<re_error>(
        re_error{kind_of(parts.kind), parts.what.c_str(), parts.where.c_str(),
                 parts.expected.c_str(), parts.found.c_str(),
                 parts.hint.c_str(), own->text.c_str(), own.get()});
    own.release();
    return out.release();
  } catch (...) {
    return no_memory();
  }
}

}  // namespace

re_error* error_of_exception() noexcept {
  try {
    try {
      throw;
    } catch (const api::Failure& e) {
      return error_of(e.error);
    } catch (const std::bad_alloc&) {
      return no_memory();
    } catch (const std::length_error&) {
      return no_memory();
    } catch (const std::system_error& e) {  // no thread, no lock
      return error_of({.kind = ErrorKind::kLimit,
                       .what = "the system refused something",
                       .found = e.what()});
    } catch (const std::exception& e) {
      return error_of({.kind = ErrorKind::kInternal,
                       .what = "an unexpected error",
                       .found = e.what()});
    } catch (...) {
      return error_of(
          {.kind = ErrorKind::kInternal, .what = "an unexpected error"});
    }
  } catch (...) {
    return no_memory();
  }
}

void need(const void* pointer, const char* what) {
  if (pointer == nullptr) throw misuse(std::string(what) + " is NULL");
}

void check_size(std::size_t size) {
  constexpr std::size_t kWord = sizeof(std::size_t), kMost = 1 << 16;
  if (size >= kWord && size <= kMost && size % kWord == 0) return;
  throw misuse("the size of a struct is not set", "RE_OPTIONS(type)",
               std::to_string(size));
}

Use::Use(Handle* handle, const char* type) : held_(handle) {
  if (handle == nullptr) throw misuse("a handle is NULL", type);
  if (handle->type_ != type) {
    throw misuse("a handle is of another type", type);
  }
  if (handle->used_.exchange(true)) {
    throw misuse("a handle is in use", "one call at a time", type);
  }
}

}  // namespace ruleengine::c

const char* re_version(void) { return ruleengine::kVersion.data(); }

re_kind re_error_kind(const re_error* error) {
  return error == nullptr ? re_kind() : error->kind;
}
const char* re_error_what(const re_error* error) {
  return error == nullptr ? "" : error->what;
}
const char* re_error_where(const re_error* error) {
  return error == nullptr ? "" : error->where;
}
const char* re_error_expected(const re_error* error) {
  return error == nullptr ? "" : error->expected;
}
const char* re_error_found(const re_error* error) {
  return error == nullptr ? "" : error->found;
}
const char* re_error_hint(const re_error* error) {
  return error == nullptr ? "" : error->hint;
}
const char* re_error_text(const re_error* error) {
  return error == nullptr ? "" : error->text;
}
void re_error_free(re_error* error) {
  if (error == nullptr || error == &ruleengine::c::kNoMemory) return;
  delete error->own;
  delete error;
}
