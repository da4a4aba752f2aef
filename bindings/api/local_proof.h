// Proving each edit of a run where it is made: the nodes that it changes run
// before and after it, on data of their types. An edit that computes something
// else is rejected, and the run goes on. Edits that are alike, as those of
// equal layers, run once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/api/execution.h"
#include "core/engine/op_bodies.h"
#include "core/engine/run_report.h"
#include "core/engine/verify.h"
#include "core/rewrite/cut.h"

namespace ruleengine::api {

// One thread at a time.
class LocalProof {
 public:
  explicit LocalProof(const ExecutionOptions& how);

  // Ops of the user's own run as their bodies, which must outlive this.
  void run_with(const engine::OpBodies& bodies);
  // To call before the run of a model.
  void begin();
  // Why the edit is wrong, if it is.
  std::optional<std::string> judge(const rewrite::Rule& rule,
                                   const rewrite::Region& region);
  // Notes what was proven since begin(), and warns of the rest. An error, of
  // kind kRule, kLimit or kCancelled, ended it.
  Status report(engine::FileReport& report);

 private:
  // What came of one cut.
  struct Outcome {
    enum class Kind : std::uint8_t { kAgree, kDiffer, kUnknown, kTooMuch };
    Kind kind = Kind::kUnknown;
    std::string why;  // how they differ, or why they did not run
  };
  struct Undone {
    std::string rule, node, why;
    bool operator==(const Undone&) const = default;
  };

  Outcome widen(const rewrite::Region& region,
                const engine::Comparing& comparing);
  const Outcome& outcome(const rewrite::Region& region, const rewrite::Cut& cut,
                         const engine::Comparing& comparing);
  Outcome run(const rewrite::Region& region, const rewrite::Cut& cut,
              const engine::Comparing& comparing);

  engine::CompareModels compare_;
  std::unordered_map<std::string, Outcome> known_;  // by key of the cut
  std::int64_t weight_bytes_left_ = 0;
  std::uint64_t nodes_left_ = 0;  // of the largest cuts
  std::uint64_t edits_ = 0;       // that were proven
  engine::Verified verified_;
  std::vector<Undone> undone_;
  // By rule: how many edits could not be run, and why the first one could not.
  std::map<std::string, std::pair<std::uint64_t, std::string>> open_;
  Status stopped_;
};

}  // namespace ruleengine::api
