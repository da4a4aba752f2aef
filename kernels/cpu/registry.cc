#include <algorithm>
#include <memory>
#include <tuple>

#include "kernels/cpu.h"
#include "kernels/cpu/adapted_node.h"
#include "kernels/cpu/families.h"
#include "runtime/folding.h"

namespace ruleengine::kernels {
namespace {

auto key(const Kernel* kernel) {
  return std::tie(kernel->domain, kernel->type);
}

const std::vector<const Kernel*>& table() {
  static const auto kTable = [] {
    std::vector<const Kernel*> out;
    for (const KernelRows* family : kFamilies) {
      for (const Kernel& each : *family) out.push_back(&each);
    }
    std::ranges::stable_sort(out, {}, key);
    return out;
  }();
  return kTable;
}

// All kernels of an op, in the order that they are asked in.
std::span<const Kernel* const> kernels_of(std::string_view domain,
                                          std::string_view type) {
  if (domain == "ai.onnx") domain = "";
  const auto found =
      std::ranges::equal_range(table(), std::tie(domain, type), {}, key);
  return {found.begin(), found.end()};
}

class CpuSession final : public runtime::BackendSession {
 public:
  std::unique_ptr<const runtime::PreparedNode> prepare(
      const ops::NodeView& node, const runtime::KnownInputs& known,
      runtime::KernelRun& run) override {
    std::string reasons;
    for (const Kernel* each : kernels_of(node.op().domain, node.op().type)) {
      try {
        return std::make_unique<const AdaptedNode>(*each, node, known, run);
      } catch (const runtime::Declined& declined) {
        reasons += (reasons.empty() ? "" : "; ") + declined.reason;
      }
    }
    runtime::decline(std::move(reasons));
  }
};

class Cpu final : public runtime::Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return !kernels_of(domain, type).empty();
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
  for (const Kernel* each : table()) {
    const ir::Op op{.domain = each->domain, .type = each->type, .overload = {}};
    if (out.empty() || out.back() != op) out.push_back(op);
  }
  return out;
}

}  // namespace ruleengine::kernels
