#include "tests/cuda/plans/chips.h"

#include <algorithm>

namespace ruleengine::kernels::cuda {
namespace {

const NamedChip kChips[] = {{"a100",
                             {.name = "NVIDIA A100-SXM4-80GB",
                              .capability = 800,
                              .multiprocessors = 108,
                              .shared_of_block_optin = 166912,
                              .blocks_of_multiprocessor = 32,
                              .threads_of_multiprocessor = 2048,
                              .memory = 84974239744,
                              .l2_cache = 41943040,
                              .clock_khz = 1410000,
                              .memory_clock_khz = 1593000}},
                            {"l40s",
                             {.name = "NVIDIA L40S",
                              .capability = 890,
                              .multiprocessors = 142,
                              .shared_of_block_optin = 101376,
                              .blocks_of_multiprocessor = 24,
                              .threads_of_multiprocessor = 1536,
                              .memory = 47677177856,
                              .l2_cache = 100663296,
                              .clock_khz = 2520000,
                              .memory_clock_khz = 9001000}},
                            {"h100",
                             {.name = "NVIDIA H100 80GB HBM3",
                              .capability = 900,
                              .multiprocessors = 132,
                              .shared_of_block_optin = 232448,
                              .blocks_of_multiprocessor = 32,
                              .threads_of_multiprocessor = 2048,
                              .memory = 84929347584,
                              .l2_cache = 52428800,
                              .clock_khz = 1980000,
                              .memory_clock_khz = 2619000}},
                            {"h200",
                             {.name = "NVIDIA H200",
                              .capability = 900,
                              .multiprocessors = 132,
                              .shared_of_block_optin = 232448,
                              .blocks_of_multiprocessor = 32,
                              .threads_of_multiprocessor = 2048,
                              .memory = 150109880320,
                              .l2_cache = 62914560,
                              .clock_khz = 1980000,
                              .memory_clock_khz = 3201000}},
                            {"b200",
                             {.name = "NVIDIA B200",
                              .capability = 1000,
                              .multiprocessors = 148,
                              .shared_of_block_optin = 232448,
                              .blocks_of_multiprocessor = 32,
                              .threads_of_multiprocessor = 2048,
                              .memory = 191503138816,
                              .l2_cache = 132644864,
                              .clock_khz = 1965000,
                              .memory_clock_khz = 3996000}}};

}  // namespace

std::span<const NamedChip> known_chips() { return kChips; }

const Chip& chip_named(std::string_view name) {
  return std::ranges::find(kChips, name, &NamedChip::name)->chip;
}

}  // namespace ruleengine::kernels::cuda
