// What kernels see of their node.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/node_view.h"
#include "runtime/failure.h"
#include "runtime/run.h"

namespace ruleengine::runtime {

using Ints = std::vector<std::int64_t>;

// A node and the run around it.
class NodeContext : public RunContext {
 public:
  NodeContext(const ops::NodeView& node, KernelRun& run,
              DeviceMemory* place = nullptr)
      : RunContext(run, place), node_(node) {}

  // Fails with what the attribute says, or with `found`.
  [[noreturn]] void wrong_attribute(std::string_view name, std::string expected,
                                    std::string found = {}) const;

 protected:
  const ops::NodeView& node_;
};

// The attributes of a node, as kernels read them: as written, or by the
// schema's default; 0, "" or empty where it has none. `otherwise`: the value
// where it is not written.
class Attributes : public NodeContext {
 public:
  using NodeContext::NodeContext;

  const ops::NodeView& node() const { return node_; }
  const ir::Op& op() const { return node_.op(); }

  bool has_attribute(std::string_view name) const {
    return node_.attribute(name) != nullptr;
  }
  std::int64_t attribute_int(std::string_view name) const {
    return node_.attribute_int(name);
  }
  std::int64_t attribute_int(std::string_view name,
                             std::int64_t otherwise) const {
    return has_attribute(name) ? attribute_int(name) : otherwise;
  }
  bool attribute_flag(std::string_view name) const {
    return node_.attribute_int(name) != 0;
  }
  float attribute_float(std::string_view name) const;
  float attribute_float(std::string_view name, float otherwise) const {
    return has_attribute(name) ? attribute_float(name) : otherwise;
  }
  std::string_view attribute_string(std::string_view name) const {
    return node_.attribute_string(name);
  }
  Ints attribute_ints(std::string_view name) const {
    return node_.attribute_ints(name).value_or(Ints());
  }
  std::vector<float> attribute_floats(std::string_view name) const {
    return node_.attribute_floats(name);
  }
  std::vector<std::string> attribute_strings(std::string_view name) const;
  // kUndefined when it is not written. In a wide run floats are doubles.
  DataType attribute_type(std::string_view name) const;
  // nullopt when it is not written. In a wide run floats are doubles.
  std::optional<Tensor> attribute_tensor(std::string_view name) const;
  // Fails when it is not written.
  void need_attribute(std::string_view name) const;
  // A string attribute that is one of `known`; fails for any other.
  std::string_view choice(std::string_view name,
                          std::initializer_list<std::string_view> known) const;
};

}  // namespace ruleengine::runtime
