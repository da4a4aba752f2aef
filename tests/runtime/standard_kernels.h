// Kernels of the standard's ops alone, so that others run by their meanings.
#pragma once

#include "kernels/cpu.h"

namespace ruleengine::runtime {

inline const Backend& standard_kernels() {
  class Standard final : public Backend {
   public:
    std::string_view name() const override { return "standard"; }
    bool has_kernel(std::string_view domain,
                    std::string_view type) const override {
      return domain.empty() && kernels::cpu().has_kernel(domain, type);
    }
    std::unique_ptr<BackendSession> open() const override {
      return kernels::cpu().open();
    }
  };
  static const Standard kStandard;
  return kStandard;
}

}  // namespace ruleengine::runtime
