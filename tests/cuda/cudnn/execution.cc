#include "tests/cuda/cudnn/execution.h"

#include <chrono>
#include <thread>
#include <utility>

#include "tests/cuda/cudnn/operations.h"
#include "tests/cuda/standin/standin.h"

namespace ruleengine::standin {
namespace {

const Descriptor& graph_of(const Descriptor& plan) {
  const Descriptor* choice = plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor* engine =
      choice == nullptr ? nullptr : choice->part(CUDNN_ATTR_ENGINECFG_ENGINE);
  const Descriptor* graph =
      engine == nullptr ? nullptr
                        : engine->part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (graph == nullptr) throw GraphFault("a plan has no graph");
  return *graph;
}

// The tensors of a run from what the program gives, and the addresses that
// the work touches.
class PackReader {
 public:
  explicit PackReader(const Descriptor& pack) {
    const auto uids =
        pack.numbers<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto data =
        pack.numbers<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    if (uids.size() != data.size()) throw GraphFault("a pack has a hole");
    for (std::size_t i = 0; i < uids.size(); ++i) given_[uids[i]] = data[i];
  }

  void read(const TensorSpec& t) {
    if (t.is_virtual || memory_.addresses.contains(t.uid)) return;
    const auto found = given_.find(t.uid);
    if (found == given_.end() || found->second == nullptr) {
      throw GraphFault("tensor " + std::to_string(t.uid) + " is not given");
    }
    void* at = found->second;
    if (t.is_by_value) {
      const auto* bytes = static_cast<const std::byte*>(at);
      memory_.values[t.uid] = {bytes, bytes + element_bytes(t.type)};
      return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (address % static_cast<std::uintptr_t>(t.alignment) != 0) {
      throw GraphFault("tensor " + std::to_string(t.uid) + " is not aligned");
    }
    memory_.addresses[t.uid] = at;
    uses_.push_back(at);
    if (t.offsets != nullptr) read(*t.offsets);
  }

  TensorMemory& memory() { return memory_; }
  std::vector<const void*>& uses() { return uses_; }

 private:
  std::map<std::int64_t, void*> given_;
  TensorMemory memory_;
  std::vector<const void*> uses_;
};

}  // namespace

void check_descriptor(const Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      spec_of(&d);
      return;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      operations_of(d);
      return;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      graph_of(d);
      std::this_thread::sleep_for(
          std::chrono::milliseconds(driver().plan_milliseconds));
      return;
    default:
      return;
  }
}

void execute(void* stream, const Descriptor& plan, const Descriptor& pack) {
  if (stream == nullptr) throw GraphFault("a handle has no stream");
  PackReader reader(pack);
  auto operations = operations_of(graph_of(plan));
  for (const Operation& each : operations) {
    for (const TensorSpec& t : each.inputs) reader.read(t);
    for (const TensorSpec& t : each.outputs) reader.read(t);
  }
  auto* workspace = pack.number<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {});
  if (workspace == nullptr) throw GraphFault("there is no workspace");
  // As a block of device memory is; what engines keep there needs some of it.
  constexpr std::uintptr_t kAlignment = 256;
  if (reinterpret_cast<std::uintptr_t>(workspace) % kAlignment != 0) {
    throw GraphFault("the workspace is not aligned");
  }
  reader.uses().push_back(workspace);
  add_work(stream, "a plan of cuDNN", std::move(reader.uses()),
           [operations = std::move(operations), workspace,
            memory = std::move(reader.memory())] {
             std::memset(workspace, 0xFF, kWorkspaceBytes);
             TensorMemory m = memory;
             for (const Operation& each : operations) {
               for (const TensorSpec& t : each.outputs) m.make(t);
               each.run(m);
             }
           });
}

}  // namespace ruleengine::standin
