// Which nodes are computed on the host although there are devices: those whose
// results are only read there, and those that follow from shapes and are read
// there, too, since what is read back of a device cannot be recorded. What only
// asks for a shape reads nothing.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "runtime/backend.h"
#include "runtime/plan.h"

namespace ruleengine::runtime {

// Whether input `i` is one of these.
inline bool has_input(ops::Inputs inputs, std::size_t i) {
  return i < 32 ? (inputs >> i & 1) != 0 : inputs == ops::kAll;
}

class HostNodes {
 public:
  // `devices`: the backends with memory of their own. The plans must outlive
  // this.
  HostNodes(const Plans& plans, Backends devices);

  // Whether some call of the plan's graph wants the node on the host.
  bool contains(const Plan& plan, ir::NodeId node) const;

 private:
  using Flags = std::vector<bool>;
  struct Flow {
    Flags outputs_of_shapes;  // which follow from shapes and constants alone
    Flags inputs_read;        // which are read on the host
  };
  class Pass;

  // A function is looked at for each kind of call. `of_shapes`: which inputs
  // follow from shapes; `read`: which outputs are read on the host. Missing
  // ones do not.
  const Flow& flow(const Plan& plan, const Flags& of_shapes, const Flags& read,
                   std::size_t depth);
  bool reads_on_host(const ir::Op& op, std::size_t i) const;

  Backends devices_;
  std::map<std::tuple<const Plan*, Flags, Flags>, Flow> known_;
  std::map<const Plan*, Flags> hosts_;  // by node
};

}  // namespace ruleengine::runtime
