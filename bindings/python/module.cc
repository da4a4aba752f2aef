// The module ruleengine._native: what the package is made of. All arguments are
// checked here again, so that no call can end the process.
#include <nanobind/nanobind.h>

#include "bindings/python/objects.h"
#include "core/base/version.h"

NB_MODULE(_native, m) {
  namespace python = ruleengine::python;
  // Objects of threads that the end of the interpreter stops are no leaks.
  nanobind::set_leak_warnings(false);
  python::register_failures();
  python::add_models(m);
  python::add_rules(m);
  python::add_sessions(m);
  m.def("end", &python::end_calls);
  m.attr("version") = python::text(ruleengine::kVersion);
}
