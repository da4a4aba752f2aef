// plans.tsv: which attentions cuDNN makes a plan of, for which chip. A row is a
// feature, a chip, a type of elements, a head size and a verdict; the reason of
// a refusal is for readers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

struct PlanCase {
  std::string feature, chip, element;
  std::int64_t size = 0;

  auto operator<=>(const PlanCase&) const = default;
  std::string text() const;
};

struct Verdict {
  bool is_accepted = false;
  std::string reason;
};

using PlanTable = std::map<PlanCase, Verdict>;

PlanTable read_table(const std::string& path);
void write_table(const std::string& path, const PlanTable& table);

// All cases of the features, the chips and the heads.
std::map<PlanCase, AttentionDescription> plan_cases();

// What the checks and cuDNN say of a case.
Verdict verdict_of(const PlanCase& at, const AttentionDescription& d);

}  // namespace ruleengine::kernels::cuda
