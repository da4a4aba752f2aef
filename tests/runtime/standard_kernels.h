// Kernels of the standard's ops alone, so that others run by their meanings.
#pragma once

#include "kernels/cpu.h"

namespace ruleengine::runtime {

inline const Kernel* find_standard_kernel(std::string_view domain,
                                          std::string_view type) {
  return domain.empty() ? kernels::find_cpu_kernel(domain, type) : nullptr;
}

}  // namespace ruleengine::runtime
