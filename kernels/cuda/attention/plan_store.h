// Plans, and refusals of plans, in a folder: one file each, named by the hash
// of its key, which it has inside. A file is there whole or not at all. What is
// damaged, or of another user, is passed over: a plan is code that runs. Safe
// on many threads and processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ruleengine::kernels::cuda {

struct StoredPlan {
  bool is_refusal = false;
  std::string bytes;  // a plan, or why there is none

  bool operator==(const StoredPlan&) const = default;
};

class PlanStore {
 public:
  // The folder is made where it is missing. `most_bytes`: of all its files; the
  // oldest go first.
  PlanStore(std::filesystem::path folder, std::uint64_t most_bytes);

  std::optional<StoredPlan> read(std::string_view key) const;
  // Whether it is there now. A disk that is full costs only time.
  bool write(std::string_view key, const StoredPlan& plan) const;

 private:
  std::filesystem::path path_of(std::string_view key) const;
  void remove_oldest() const;

  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
};

}  // namespace ruleengine::kernels::cuda
