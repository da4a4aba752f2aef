// Plans of cuDNN, made without a GPU. The driver that is loaded first here only
// loads. RULEENGINE_RECORD=1 writes plans.tsv anew, in which what was accepted
// stays so.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/cuda/attention/check.h"
#include "kernels/cuda/attention/cudnn.h"
#include "kernels/cuda/attention/plan_cache.h"
#include "tests/cuda/plans/chips.h"
#include "tests/cuda/plans/features.h"
#include "tests/cuda/plans/plan_table.h"
#include "tests/support/tier.h"

namespace ruleengine::kernels::cuda {
namespace {

// A case takes 0.5 s. A prime, so that a turn has all chips and sizes.
constexpr std::size_t kTurns = 149;
const std::string kTable =
    std::string(RULEENGINE_SOURCE_DIR) + "/tests/cuda/plans/plans.tsv";

// By its name, so that cuDNN finds it open.
const bool has_driver = dlopen(RULEENGINE_LOADING_DRIVER, RTLD_NOW) != nullptr;

AttentionDescription plain() {
  return attention_with(features()[0], DataType::kFloat16, 64);
}

// These have each tensor between them.
bool has_all_tensors(std::string_view feature) {
  constexpr std::string_view kNames[] = {
      "cap_bias",     "cap_lengths", "paged_decode_bias", "ragged",
      "ragged_paged", "sink",        "statistics"};
  return std::ranges::find(kNames, feature) != std::end(kNames);
}

void record(PlanTable& table) {
  for (const auto& [at, d] : plan_cases()) {
    Verdict& known = table[at];
    if (known.is_accepted) continue;
    known = verdict_of(at, d);
    // Each time, so that a run that is ended early is not for nothing.
    write_table(kTable, table);
  }
}

TEST_CASE("cuDNN takes what it took") {
  REQUIRE(has_driver);
  PlanTable table = read_table(kTable);
  if (std::getenv("RULEENGINE_RECORD") != nullptr) record(table);
  std::size_t i = 0;
  for (const auto& [at, d] : plan_cases()) {
    CAPTURE(at.text());
    const auto known = table.find(at);
    REQUIRE_MESSAGE(known != table.end(), "no row; RULEENGINE_RECORD=1");
    if (!has_turn(i++, kTurns)) continue;
    const Verdict now = verdict_of(at, d);
    CAPTURE(now.reason);
    if (known->second.is_accepted) {
      CHECK(now.is_accepted);
    } else {
      CHECK_MESSAGE(!now.is_accepted, "more is taken; RULEENGINE_RECORD=1");
    }
  }
}

TEST_CASE("a plan is read again for the same chip only") {
  const Chip& h200 = chip_named("h200");
  const auto plan = AttentionPlan::build(plain(), h200);
  REQUIRE(plan);
  const auto bytes = plan->serialize();
  REQUIRE(bytes);
  const auto again = AttentionPlan::deserialize(*bytes, h200);
  REQUIRE(again);
  CHECK(again->workspace_bytes() == plan->workspace_bytes());
  CHECK(again->serialize());

  const auto other = AttentionPlan::deserialize(*bytes, chip_named("h100"));
  REQUIRE_FALSE(other);
  CHECK(other.error().what ==
        "the plan is for another chip, or another driver");
  CHECK(other.error().found == "'NVIDIA H200'");

  Chip second = h200;
  second.device = second.pci_device = 1;
  CHECK(AttentionPlan::deserialize(*bytes, second));
  Chip later = h200;
  later.driver += 10;
  CHECK_FALSE(AttentionPlan::deserialize(*bytes, later));
  for (const std::size_t size : {std::size_t{0}, bytes->size() / 2}) {
    CHECK_FALSE(AttentionPlan::deserialize(bytes->substr(0, size), h200));
  }
}

TEST_CASE("cuDNN tells a chip as it was told") {
  for (const auto& [name, chip] : known_chips()) {
    const auto read = chip_from_json(chip.json());
    REQUIRE(read);
    CHECK(*read == chip);
  }
  CHECK_FALSE(chip_from_json("{}"));
  CHECK_FALSE(chip_from_json("nonsense"));
}

TEST_CASE("the plan that is built is the first of those that there are") {
  for (const char* chip : {"a100", "h200", "b200"}) {
    CAPTURE(chip);
    const auto plan = AttentionPlan::build(plain(), chip_named(chip));
    REQUIRE(plan);
    const auto all = AttentionPlan::candidates(plain(), chip_named(chip));
    REQUIRE(all);
    CHECK(all->size() > 1);
    CHECK(all->front().name() == plan->name());
    CHECK_FALSE(all->front().serialize());
  }
  AttentionDescription d = plain();
  d.qk_size = 60;
  CHECK_FALSE(AttentionPlan::candidates(d, chip_named("h200")));
}

TEST_CASE("what cuDNN refuses has a reason") {
  AttentionDescription d = plain();
  d.qk_size = 60;
  const auto plan = AttentionPlan::build(d, chip_named("h200"));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == ErrorKind::kModel);
  CHECK(plan.error().what.starts_with("cuDNN refuses to take the graph: "));
}

// Without a handle it fails, but not before it has found all its tensors.
void check_tensors(const AttentionPlan& plan) {
  const Status done = plan.execute(nullptr, {}, nullptr);
  REQUIRE_FALSE(done);
  CAPTURE(done.error().what);
  CHECK(done.error().what.find("Uid") == std::string::npos);
}

TEST_CASE("each tensor of a plan has its address") {
  const Chip& h200 = chip_named("h200");
  for (const Feature& feature : features()) {
    if (!has_all_tensors(feature.name)) continue;
    CAPTURE(feature.name);
    const auto plan = AttentionPlan::build(
        attention_with(feature, DataType::kFloat16, 64), h200);
    REQUIRE(plan);
    check_tensors(*plan);
    const auto bytes = plan->serialize();
    REQUIRE(bytes);
    const auto again = AttentionPlan::deserialize(*bytes, h200);
    REQUIRE(again);
    check_tensors(*again);
  }
}

TEST_CASE("plans of cuDNN are kept in a folder") {
  std::string name = "/tmp/plans-XXXXXX";
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const Chip& h200 = chip_named("h200");
  const std::int64_t version = cudnn_version().value();
  const auto plans = [&](const BlockedVersions& blocked) {
    return std::make_unique<AttentionPlans>(h200, version, 4,
                                            PlanStore(name, 1 << 24), blocked);
  };
  const auto first = plans(BlockedVersions::built_in());
  REQUIRE(first->get(plain()));
  CHECK(first->counts().builds == 1);
  const auto second = plans(BlockedVersions::built_in());
  REQUIRE(second->get(plain()));
  CHECK(second->counts().loads == 1);
  // What is known to be wrong by now is refused, though it is in the folder.
  const auto later =
      plans(BlockedVersions::parse("9.0.0- | any | wrong", "list").value());
  const auto refused = later->get(plain());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "wrong");
  std::filesystem::remove_all(name);
}

TEST_CASE("plans are built on many threads") {
  std::vector<std::thread> threads;
  std::atomic<int> built = 0;
  for (const std::int64_t size : {64, 72, 80, 88}) {
    threads.emplace_back([&built, size] {
      const auto d = attention_with(features()[0], DataType::kFloat16, size);
      if (AttentionPlan::build(d, chip_named("a100"))) ++built;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(built == 4);
}

TEST_CASE("where no GPU is, asking for it is an error") {
  CHECK_FALSE(chip_of_device(0));
}

TEST_CASE("after a restart no plan is built") {
  REQUIRE(has_driver);
  std::string name =
      (std::filesystem::temp_directory_path() / "plans-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  AttentionDescription d = plain();
  d.q = d.k = d.v = d.o = strides_by_length(d.q_heads, 64, d.qk_size);
  const auto counts_of = [&] {
    AttentionPlans plans(chip_named("h200"), *cudnn_version(), 64,
                         PlanStore(folder, 1 << 26));
    std::mt19937 random(3);
    for (int i = 0; i < 100; ++i) {
      const auto length =
          bucket_of(static_cast<std::int64_t>(random() % 4096 + 1));
      CHECK(plans.get(with_buckets(d, length, length)).ok());
    }
    return plans.counts();
  };
  const PlanCounts first = counts_of();
  CHECK(first.builds > 4);
  CHECK(first.builds <= 8);
  const PlanCounts again = counts_of();
  CHECK(again.builds == 0);
  CHECK(again.loads == first.builds);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ruleengine::kernels::cuda
