// Backend: what computes nodes, and where their tensors are. The CPU is one;
// another has memory that the host does not read and a queue of work of its
// own. The executor opens each, asks them in order for each node, runs it on
// the first that takes it, and copies tensors between memories as nodes need
// them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/op_row.h"
#include "runtime/preparation.h"

namespace ruleengine::runtime {

// A node that is ready to run.
class PreparedNode {
 public:
  virtual ~PreparedNode() = default;
  // Computes the outputs, or adds that to the work of the backend. Throws
  // Failure.
  virtual void run(Call& call) const = 0;
  // Whether it only reads the type and the shape of constant `i`.
  virtual bool is_released(std::size_t i) const = 0;
  // Whether input `i` may be a view (Tensor::is_dense).
  virtual bool takes_views(std::size_t) const { return false; }
};

// What is known of the inputs of a node before it runs. Both may be empty.
struct KnownInputs {
  // By input; nullptr where it is no constant. On the host, and they outlive
  // the node.
  std::span<const Datum* const> constants;
  ValueTypes* types = nullptr;
};

// The work of a run, which can be done again by one call on other inputs of the
// same shapes. Its memory is its own.
class Recording {
 public:
  virtual ~Recording() = default;

  // Where the bytes go that were written from `from` when it was made: as often
  // as they were written.
  virtual std::vector<std::byte*> places_of(const std::byte* from) const = 0;
  // Does the work and waits for it. `outputs` get what was read when it was
  // made, in that order. Throws Failure.
  virtual void replay(std::span<const std::span<std::byte>> outputs) = 0;
};

// A backend that is open for one executor: its memory, its queue of work, what
// its nodes share. For one thread.
class BackendSession {
 public:
  virtual ~BackendSession() = default;

  // Where its nodes write; nullptr: on the host. It is alive as long as any
  // block of it.
  virtual DeviceMemory* memory() { return nullptr; }
  // The node by the first kernel that takes it. Throws Declined where none
  // does, and Failure where the node cannot be computed.
  virtual std::unique_ptr<const PreparedNode> prepare(const ops::NodeView& node,
                                                      const KnownInputs& known,
                                                      KernelRun& run) = 0;
  // Before the nodes of a run, and after them, also where one failed: the work
  // that was asked for is done when it returns. Throws Failure.
  virtual void begin() {}
  virtual void finish() {}
  // Until the work that was asked for is done, unless that is written down; the
  // run goes on. Throws Failure.
  virtual void wait() {}
  // Between runs: until what is made aside for runs to come is there. `check` is
  // called meanwhile, and throws where that is to end.
  virtual void settle(const std::function<void()>& /*check*/) {}
  // After begin(), in the place of finish(): work is written down instead of
  // done, and nothing is read before it is done. All of it must be the same for
  // other inputs of the same shapes. Whether that is possible.
  virtual bool start_recording() { return false; }
  // nullptr where some of the work could not be written down, or it does not
  // record. Throws Failure, and then it does not record any more.
  virtual std::unique_ptr<Recording> stop_recording() { return nullptr; }
};

// Constant; any thread may ask.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  // Whether there are kernels for nodes of this op. A version of an op that the
  // newest one cannot express has an op of its own, such as "Scan-8".
  virtual bool has_kernel(std::string_view domain,
                          std::string_view type) const = 0;
  // The inputs that its kernels read on the host: by default those of which the
  // values tell the type of the result.
  virtual ops::Inputs host_inputs(const ir::Op& op) const;
  // The backend must outlive the session.
  virtual std::unique_ptr<BackendSession> open() const = 0;
};

// In order of preference.
using Backends = std::vector<const Backend*>;

bool has_kernel(const Backends& backends, const ir::Op& op);

}  // namespace ruleengine::runtime
