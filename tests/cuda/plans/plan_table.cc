#include "tests/cuda/plans/plan_table.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "core/ir/data_type.h"
#include "kernels/cuda/attention/check.h"
#include "kernels/cuda/attention/cudnn.h"
#include "tests/cuda/plans/chips.h"
#include "tests/cuda/plans/features.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::string_view kAccepted = "accepted", kRefused = "refused";

// What a head is made of. The rarer sizes have one type, for time.
constexpr std::pair<DataType, std::int64_t> kHeads[] = {
    {DataType::kFloat16, 64},  {DataType::kFloat16, 128},
    {DataType::kBfloat16, 64}, {DataType::kBfloat16, 128},
    {DataType::kFloat16, 32},  {DataType::kFloat16, 256}};

}  // namespace

std::string PlanCase::text() const {
  return fmt::format("{}\t{}\t{}\t{}", feature, chip, element, size);
}

PlanTable read_table(const std::string& path) {
  PlanTable out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    PlanCase at;
    std::string verdict, reason;
    fields >> at.feature >> at.chip >> at.element >> at.size >> verdict;
    std::getline(fields >> std::ws, reason);
    out[at] = {.is_accepted = verdict == kAccepted, .reason = reason};
  }
  return out;
}

void write_table(const std::string& path, const PlanTable& table) {
  std::ofstream out(path);
  for (const auto& [at, verdict] : table) {
    out << at.text() << '\t' << (verdict.is_accepted ? kAccepted : kRefused);
    if (!verdict.is_accepted) out << '\t' << verdict.reason;
    out << '\n';
  }
}

std::map<PlanCase, AttentionDescription> plan_cases() {
  std::map<PlanCase, AttentionDescription> out;
  for (const Feature& feature : features()) {
    for (const auto& [element, size] : kHeads) {
      for (const NamedChip& chip : known_chips()) {
        const PlanCase at{std::string(feature.name), std::string(chip.name),
                          std::string(ir::data_type_name(element)), size};
        out[at] = attention_with(feature, element, size);
      }
    }
  }
  return out;
}

Verdict verdict_of(const PlanCase& at, const AttentionDescription& d) {
  const Chip& chip = chip_named(at.chip);
  const Result<std::int64_t> version = cudnn_version();
  if (!version) return {.reason = version.error().what};
  if (const auto reason = check(d, chip, *version)) return {.reason = *reason};
  const Result<AttentionPlan> plan = AttentionPlan::build(d, chip);
  if (!plan) return {.reason = plan.error().what};
  return {.is_accepted = true};
}

}  // namespace ruleengine::kernels::cuda
