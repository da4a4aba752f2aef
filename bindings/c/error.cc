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

}  // namespace

re_error* error_of(const Status& status) noexcept {
  if (status.ok()) return nullptr;
  try {
    auto own = std::make_unique<re_error::Texts>();
    own->parts = status.error();
    Diagnostic& d = own->parts;
    own->text = d.text();
    for (std::string* each :
         {&d.what, &d.where, &d.expected, &d.found, &d.hint, &own->text}) {
      *each = without_nul(std::move(*each));
    }
    auto out = std::make_unique<re_error>(re_error{
        kind_of(d.kind), d.what.c_str(), d.where.c_str(), d.expected.c_str(),
        d.found.c_str(), d.hint.c_str(), own->text.c_str(), own.get()});
    own.release();
    return out.release();
  } catch (...) {
    return no_memory();
  }
}

re_error* error_of_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return no_memory();
    } catch (const std::length_error&) {
      return no_memory();
    } catch (const std::system_error& e) {  // no thread, no lock
      return error_of(Diagnostic{.kind = ErrorKind::kLimit,
                                 .what = "the system refused something",
                                 .found = e.what()});
    } catch (const std::exception& e) {
      return error_of(Diagnostic{.kind = ErrorKind::kInternal,
                                 .what = "an unexpected error",
                                 .found = e.what()});
    } catch (...) {
      return error_of(Diagnostic{.kind = ErrorKind::kInternal,
                                 .what = "an unexpected error"});
    }
  } catch (...) {
    return no_memory();
  }
}

Diagnostic misuse(std::string what, std::string expected, std::string found) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found)};
}

Status need(const void* pointer, const char* what) {
  if (pointer != nullptr) return {};
  return misuse(std::string(what) + " is NULL");
}

Status check_size(std::size_t size) {
  constexpr std::size_t kWord = sizeof(std::size_t), kMost = 1 << 16;
  if (size >= kWord && size <= kMost && size % kWord == 0) return {};
  return misuse("the size of a struct is not set", "RE_OPTIONS(type)",
                std::to_string(size));
}

Use::Use(Handle* handle, const char* type) {
  if (handle == nullptr) {
    status_ = misuse("a handle is NULL", type);
  } else if (handle->type_ != type) {
    status_ = misuse("a handle is of another type", type);
  } else if (handle->used_.exchange(true)) {
    status_ = misuse("a handle is in use", "one call at a time", type);
  } else {
    held_ = handle;
  }
}

Use::~Use() {
  if (held_ != nullptr) held_->used_ = false;
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
