#include <memory>

#include "kernels/cpu.h"
#include "kernels/cpu/adapted_node.h"
#include "kernels/cpu/families.h"
#include "kernels/kernel_table.h"
#include "runtime/folding.h"

namespace ruleengine::kernels {
namespace {

const KernelTable<Kernel>& table() {
  static const KernelTable<Kernel> kTable(kFamilies);
  return kTable;
}

class CpuSession final : public runtime::BackendSession {
 public:
  std::unique_ptr<const runtime::PreparedNode> prepare(
      const ops::NodeView& node, const runtime::KnownInputs& known,
      runtime::KernelRun& run) override {
    const ir::Op& op = node.op();
    return first_taking(
        table().find(op.domain, op.type), [&](const Kernel& each) {
          return std::make_unique<const AdaptedNode>(each, node, known, run);
        });
  }
};

class Cpu final : public runtime::Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return !table().find(domain, type).empty();
  }
  std::unique_ptr<runtime::BackendSession> open() const override {
    return std::make_unique<CpuSession>();
  }
};

}  // namespace

const runtime::Backend& cpu() {
  static const Cpu kCpu;
  return kCpu;
}

const ir::Evaluator* cpu_evaluator() {
  static const runtime::Folding kFolding(cpu());
  return &kFolding;
}

std::vector<ir::Op> cpu_ops() {
  std::vector<ir::Op> out;
  for (const Kernel* each : table().all()) {
    const ir::Op op{.domain = each->domain, .type = each->type, .overload = {}};
    if (out.empty() || out.back() != op) out.push_back(op);
  }
  return out;
}

}  // namespace ruleengine::kernels
