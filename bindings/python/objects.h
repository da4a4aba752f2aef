// What is behind the objects that Python holds.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "bindings/api/held.h"
#include "bindings/api/models.h"
#include "bindings/python/call.h"
#include "bindings/python/failure.h"

namespace ruleengine::python {

using Seconds = std::optional<double>;

// The memory of a Python object, such as bytes or a mapped file.
class Buffer {
 public:
  explicit Buffer(nb::handle of);
  ~Buffer();  // takes the GIL
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf),
            static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

struct Model {
  std::shared_ptr<api::Held> held;
  std::vector<std::string> warnings;
  Busy busy;
};

struct Rules {
  // The deadline of the current call.
  std::shared_ptr<Deadline> term = std::make_shared<Deadline>();
  std::unique_ptr<api::Rewriter> rewriter;
  Busy busy;
};

inline Busy* busy_of(Rules* rules) {
  return rules == nullptr ? nullptr : &rules->busy;
}

// A path of os.fsencode().
inline std::string path_of(const nb::bytes& path) {
  return {path.c_str(), path.size()};
}

// Sizes of named dimensions, numbers or names of others.
using Dims = std::map<std::string, std::variant<std::int64_t, std::string>>;

// The parts of the module.
void add_models(nb::module_& m);
void add_rules(nb::module_& m);
void add_sessions(nb::module_& m);

}  // namespace ruleengine::python
