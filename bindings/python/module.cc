// The module ruleengine._native, of which the package is made.
#include <nanobind/nanobind.h>

#include "bindings/api/process.h"
#include "bindings/python/objects.h"
#include "core/base/version.h"

NB_MODULE(_native_parts, m) {
  namespace python = ruleengine::python;
  // Objects of threads that the end of the interpreter stops are no leaks.
  nanobind::set_leak_warnings(false);
  // A file that is cut short while it is mapped gives an error, and not SIGBUS.
  ruleengine::api::guard_mapping_faults();
  python::register_failures();
  python::add_models(m);
  python::add_rules(m);
  python::add_sessions(m);
  m.def("end", &python::end_calls);
  // The text of an error that the package raises itself.
  m.def("text_of", [](std::string what, std::string where, std::string expected,
                      std::string found, std::string hint) {
    return python::text(ruleengine::Diagnostic{.what = std::move(what),
                                               .where = std::move(where),
                                               .expected = std::move(expected),
                                               .found = std::move(found),
                                               .hint = std::move(hint)}
                            .text());
  });
  m.attr("version") = python::text(ruleengine::kVersion);
}

// The module in a second interpreter would spoil the types of the first.
extern "C" [[gnu::visibility("default")]] PyObject* PyInit__native() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) {
    return PyInit__native_parts();
  }
  PyErr_SetString(PyExc_ImportError,
                  "ruleengine works in the main interpreter alone");
  return nullptr;
}
