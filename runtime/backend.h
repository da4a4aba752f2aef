// Backend: what computes nodes, and where their tensors are. The CPU is one;
// another has memory that the host does not read and a queue of work of its
// own. The executor asks backends in order for each node, runs it on the first
// that takes it, and moves tensors between memories as nodes need them.
// Constant while models run; it outlives them.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/op_row.h"
#include "runtime/preparation.h"

namespace ruleengine::runtime {

// A node that is ready to run. Ops of different nodes may run on several
// threads.
class PreparedNode {
 public:
  virtual ~PreparedNode() = default;
  // Throws Failure.
  virtual void run(Call& call) const = 0;
  // Whether it only reads the type and the shape of constant `i`.
  virtual bool is_released(std::size_t i) const = 0;
};

// What is known of the inputs of a node before it runs. Both may be empty.
struct KnownInputs {
  // By input; nullptr where it is no constant. On the host, and they outlive
  // the node.
  std::span<const Datum* const> constants;
  ValueTypes* types = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  // Where its nodes write; nullptr: on the host.
  virtual Memory* memory() const { return nullptr; }
  // Whether there are kernels for nodes of this op. A version of an op that the
  // newest one cannot express has an op of its own, such as "Scan-8".
  virtual bool has_kernel(std::string_view domain,
                          std::string_view type) const = 0;
  // The node by the first kernel that takes it. Throws Declined where none
  // does, and Failure where the node cannot be computed.
  virtual std::unique_ptr<const PreparedNode> prepare(const ops::NodeView& node,
                                                      const KnownInputs& known,
                                                      KernelRun& run) const = 0;
  // The inputs that its kernels read on the host: by default those of which the
  // values tell the type of the result.
  virtual ops::Inputs host_inputs(const ir::Op& op) const;
  // Waits until all that was asked of it is done. Throws Failure.
  virtual void finish() const {}
};

// In order of preference.
using Backends = std::vector<const Backend*>;

bool has_kernel(const Backends& backends, const ir::Op& op);

}  // namespace ruleengine::runtime
