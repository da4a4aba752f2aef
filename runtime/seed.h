// The number that an op draws random ones from: its attribute `seed`, or, for
// each call another, one of the run's seed and the name of the first value that
// the node makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/attributes.h"

namespace ruleengine::runtime {

class Seed {
 public:
  explicit Seed(const Attributes& a);
  std::uint64_t next(KernelRun& run) const;

 private:
  std::optional<std::uint64_t> written_;
  std::string name_;
  std::uint64_t hash_;  // of the name
};

}  // namespace ruleengine::runtime
