#include <algorithm>
#include <tuple>

#include "kernels/cpu.h"
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
    std::ranges::sort(out, {}, key);
    return out;
  }();
  return kTable;
}

}  // namespace

const Kernel* find_cpu_kernel(std::string_view domain, std::string_view type) {
  if (domain == "ai.onnx") domain = "";
  const auto& all = table();
  const auto it =
      std::ranges::lower_bound(all, std::tie(domain, type), {}, key);
  const bool found =
      it != all.end() && (*it)->domain == domain && (*it)->type == type;
  return found ? *it : nullptr;
}

const ir::Evaluator* cpu_evaluator() {
  static const runtime::Folding kFolding(find_cpu_kernel);
  return &kFolding;
}

std::vector<const Kernel*> all_cpu_kernels() { return table(); }

}  // namespace ruleengine::kernels
