#include "bindings/python/failure.h"

#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

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
constexpr std::pair<Remedy, const char*> kAdvice[] = {
    {Remedy::kTime, "`seconds` raises it"},
    {Remedy::kMemory, "`memory` of the RuleSet raises it"},
    {Remedy::kTensors, "`tensors` raises it"},
    {Remedy::kCallback, "`callback_seconds` of the RuleSet raises it"},
    {Remedy::kLoad, "`load_seconds` of the RuleSet raises it"},
    {Remedy::kFolder, "give `output`"},
    {Remedy::kInputs, "give sizes with `dims`"},
    {Remedy::kRanks, "the command `ruleengine exec --ranks` runs several"},
    {Remedy::kDevice,
     "without `device`, or with \"auto\", it runs on the CPU"}};

void raise(const Diagnostic& given, const std::string& report) {
  Diagnostic d = given;
  for (const auto& [remedy, advice] : kAdvice) {
    if (d.remedy != remedy) continue;
    d.hint.append(d.hint.empty() ? "" : "; ").append(advice);
  }
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

nb::list list_of(const std::vector<std::string>& texts) {
  nb::list out;
  for (const std::string& each : texts) out.append(text(each));
  return out;
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
