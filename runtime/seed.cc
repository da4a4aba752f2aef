#include "runtime/seed.h"

#include <bit>

#include "core/base/byte_hash.h"
#include "core/base/random_bits.h"

namespace ruleengine::runtime {

Seed::Seed(const Attributes& a) {
  if (a.has_attribute("seed")) {
    written_ = std::bit_cast<std::uint32_t>(a.node().attribute_float("seed"));
  }
  std::size_t first = 0;
  while (first + 1 < a.node().output_count() && !a.node().has_output(first)) {
    ++first;
  }
  const ir::ValueId drawn = a.node().graph().output(a.node().id(), first);
  if (drawn) name_ = a.node().graph().name(drawn);
  hash_ = byte_hash(name_);
}

std::uint64_t Seed::next(KernelRun& run) const {
  if (written_) return *written_;
  const bool is_other = run.alike != nullptr && !run.alike->contains(name_);
  return (run.seed + (is_other ? 1 : 0)) * RandomBits::kStep + hash_ +
         run.drawn[name_]++;
}

}  // namespace ruleengine::runtime
