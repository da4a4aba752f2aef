#include "bindings/python/failure.h"

#include <new>
#include <stdexcept>
#include <system_error>

namespace ruleengine::python {
namespace {

// The class of the package's errors.
const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "UsageError";
    case ErrorKind::kModel:
      return "ModelError";
    case ErrorKind::kRule:
      return "RuleError";
    case ErrorKind::kLimit:
      return "LimitError";
    case ErrorKind::kVerify:
      return "VerifyError";
    case ErrorKind::kWrite:
      return "WriteError";
    case ErrorKind::kCancelled:
      return "CancelledError";
    case ErrorKind::kInternal:
      break;
  }
  return "InternalError";
}

// How to say the remedy in Python.
const char* advice_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::kTime:
      return "`seconds` raises it";
    case Remedy::kMemory:
      return "`memory` of the RuleSet raises it";
    case Remedy::kTensors:
      return "`tensors` raises it";
    case Remedy::kCallback:
      return "`callback_seconds` of the RuleSet raises it";
    case Remedy::kLoad:
      return "`load_seconds` of the RuleSet raises it";
    case Remedy::kFolder:
      return "give `output`";
    case Remedy::kInputs:
      return "give sizes with `dims`";
    case Remedy::kRanks:
      return "the command `ruleengine exec --ranks` runs several";
    case Remedy::kDevice:
      return "without `device`, or with \"auto\", it runs on the CPU";
    case Remedy::kRewrites:
    case Remedy::kNone:
      break;
  }
  return "";
}

void raise(const Diagnostic& given, const std::string& report) {
  Diagnostic d = given;
  const std::string advice = advice_of(d.remedy);
  if (!advice.empty()) d.hint += (d.hint.empty() ? "" : "; ") + advice;
  try {
    const nb::object type =
        nb::module_::import_("ruleengine._errors").attr(class_of(d.kind));
    const nb::object error =
        type(text(d.what), text(d.where), text(d.expected), text(d.found),
             text(d.hint), text(d.text()), text(report));
    PyErr_SetObject(type.ptr(), error.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

void raise_limit(const char* what, const char* found = "") {
  raise({.kind = ErrorKind::kLimit, .what = what, .found = found}, "");
}

}  // namespace

nb::str text(std::string_view bytes) {
  PyObject* out = PyUnicode_DecodeUTF8(
      bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace");
  if (out == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(out);
}

void register_failures() {
  nb::register_exception_translator([](const std::exception_ptr& thrown,
                                       void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      raise(failure.error, failure.report);
    } catch (const std::bad_alloc&) {
      raise_limit("memory ran out");
    } catch (const std::length_error&) {
      raise_limit("memory ran out");
    } catch (const std::system_error& error) {  // no thread, no lock
      raise_limit("the system refused something", error.what());
    } catch (const nb::cast_error&) {
      raise({.kind = ErrorKind::kUsage, .what = "an argument has another type"},
            "");
    }
  });
}

}  // namespace ruleengine::python
